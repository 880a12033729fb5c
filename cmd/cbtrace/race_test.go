//go:build race

package main

func init() { large = 10 } // the program under test is built with the race detector too, and several times slower
