package model

import (
	"encoding/json"
	"math"
	"strconv"
)

// MarshalJSON writes a number, null when it is unknown.
func (o Opt) MarshalJSON() ([]byte, error) {
	if !o.OK {
		return []byte("null"), nil
	}
	return strconv.AppendInt(nil, o.V, 10), nil
}

// UnmarshalJSON reads a number or null.
func (o *Opt) UnmarshalJSON(b []byte) error {
	*o = Opt{}
	if string(b) == "null" {
		return nil
	}
	if err := json.Unmarshal(b, &o.V); err != nil {
		return err
	}
	o.OK = true
	return nil
}

// An OptFloat is a rate, share or ratio that may be unknown. The zero value is unknown.
type OptFloat struct {
	V  float64
	OK bool
}

// SomeFloat is a known number; what is not finite is unknown.
func SomeFloat(v float64) OptFloat {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return OptFloat{}
	}
	return OptFloat{v, true}
}

// MarshalJSON writes a number, null when it is unknown.
func (o OptFloat) MarshalJSON() ([]byte, error) {
	if !o.OK {
		return []byte("null"), nil
	}
	return json.Marshal(o.V)
}

// UnmarshalJSON reads a number or null.
func (o *OptFloat) UnmarshalJSON(b []byte) error {
	*o = OptFloat{}
	if string(b) == "null" {
		return nil
	}
	if err := json.Unmarshal(b, &o.V); err != nil {
		return err
	}
	o.OK = true
	return nil
}
