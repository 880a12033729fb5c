package model

import "strings"

// A Secrecy says which values of a key are shown as <redacted n bytes> (R3.6).
type Secrecy uint8

const (
	Shown      Secrecy = iota
	SecretText         // text, lists and objects: a number or a truth under such a key counts something, or is a setting
	Secret             // every value
)

// Hides reports whether values of a kind are replaced. Lists and objects are text (Batch.AddJSON).
func (s Secrecy) Hides(kind ValueKind) bool {
	return s == Secret || s == SecretText && kind == StrValue
}

// A place says where in a key the words of a row stand. A key has parts with dots between them, a part has words.
type place uint8

const (
	parts  place = iota // they are whole parts of it
	begins              // they are whole parts too, but the last one may go on
	among               // they are a part, or stand in one beside words that do not say that it counts or names something (describes)
)

// A secretRow is a row of the table of secret keys. What is below a secret key (gen_ai.input.messages.0.content) is as secret as what is in it.
type secretRow struct {
	words string // spellings, with blanks between them
	place place
	hides Secrecy
	why   string
}

// secretKeys is R3.6: what exporters write prompts, answers and credentials under. A row that shows wins over those that hide only text.
var secretKeys = []secretRow{
	{"gen_ai.prompt gen_ai.completion", begins, Secret, "OpenTelemetry and OpenLLMetry: what was asked and answered, one attribute or one per message"},
	{"gen_ai.input.messages gen_ai.output.messages gen_ai.system_instructions", parts, Secret, "OpenTelemetry: the chat"},
	{"token_ids input_ids output_ids", among, Secret, "vLLM, LMCache: prompts and answers after the tokenizer, which anyone can turn back into text"},
	{"cache_salt cache_salts kv_ack.detail", parts, Secret, "vLLM: what keeps the caches of tenants apart; the proxy: texts of errors, with what was asked in them"},
	{"traceparent trace_parent tracestate trace_state", among, Secret, "W3C: who holds them can write into the traces of others"},
	{"authorization cookie cookies", among, Secret, "OpenTelemetry: http.request.header.authorization, .proxy-authorization, .cookie, http.response.header.set-cookie"},
	{"password passwords passwd passphrase secret secrets credential credentials jwt", among, Secret, "credentials by their name"},
	{"api_key api_keys aiapi_key apikey apikeys access_key accesskey secretkey private_key privatekey signing_key encryption_key subscription_key", among, Secret,
		"keys of services: vLLM's --api-key, x-api-key, OpenAIAPIKey, those of clouds"},
	{"access_token accesstoken refresh_token id_token auth_token authtoken api_token bearer bearer_token session_token security_token csrf_token " +
		"xsrf_token hf_token hub_token github_token gitlab_token vault_token", among, Secret, "tokens that open something; those of a model are counted"},
	{"llm.headers connection_string", parts, Secret, "OpenLLMetry: all headers of a call; OpenTelemetry: how to get into a database"},

	{"usage cost token_count gen_ai.token gen_ai.output.type input.mime_type output.mime_type", parts, Shown,
		"OpenTelemetry, OpenInference: numbers and kinds, such as llm.token_count.prompt, llm.cost.completion"},

	{"prompt prompts completion completions", among, SecretText,
		"vLLM and OpenAI: prompt; OpenLLMetry: llm.prompts.*; OpenInference: llm.prompts, llm.prompt_template"},
	{"messages instructions logprobs", among, SecretText,
		"OpenAI: messages, instructions; OpenInference: llm.input_messages; vLLM: prompt_logprobs, which hold the tokens"},
	{"input inputs output outputs span_inputs span_outputs", parts, SecretText,
		"OpenInference: input.value; OpenLLMetry: traceloop.entity.input; OpenAI: input; MLflow: mlflow.spanInputs"},
	{"content contents message_content message_contents choices response.text generated_text reasoning_content transcript multi_modal_data",
		parts, SecretText, "messages and answers, of all of them"},
	{"function_call function.arguments function_call_arguments_json tool_calls tool_call.args tool.call.arguments tool.call.result tool.parameters " +
		"tool.definitions llm.tools request.functions mcp.request.argument mcp.response.value", parts, SecretText,
		"calls of tools: what the model wrote, and what it was told of them"},
	{"documents input_documents output_documents retrieval.query reranker.query embedding.text embedding.vector embedding.embeddings", parts, SecretText,
		"OpenInference: what was searched and found for a prompt"},
	{"token", parts, SecretText, "a credential, or a piece of an answer"},
}

// Words that say, in the part of a key that has a secret word, that it counts or names something: num_token_ids, prompt_tokens, api_key_id. Names do it as
// the part after it too, when that is the last: k8s.secret.name.
var (
	counters = words("num n count total max min avg mean has is")                                                                         // before all others
	measures = words("tokens count total length len size bytes ms us ns s seconds time latency duration ratio rate percent throughput")   // after it, or last
	kinds    = words("id type mode version scheme format encoding status reason enabled required present valid role index expiry policy") // after it and last
	names    = words("name path arn")                                                                                                     // after it and last
)

func words(text string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(text) {
		m[w] = true
	}
	return m
}

// A spelling is one of a row of the table, by its first word.
type spelling struct {
	text string
	row  *secretRow
}

var spellings = func() map[string][]spelling {
	m := map[string][]spelling{}
	for i := range secretKeys {
		for _, text := range strings.Fields(secretKeys[i].words) {
			first := text
			if n := strings.IndexAny(text, "._"); n > 0 {
				first = text[:n]
			}
			m[first] = append(m[first], spelling{text, &secretKeys[i]})
		}
	}
	return m
}()

// SecrecyOf says which values of a key are shown as <redacted n bytes>. Letters count in any case, and what separates the words of a part does not
// matter: x-api-key, X_API_KEY, xApiKey.
func SecrecyOf(key string) Secrecy {
	var buf [128]byte
	plain := spelled(buf[:0], key, false)
	s, shown := rowsOf(plain)
	if s != Secret {
		if n := len(plain); len(spelled(plain[:0], key, true)) != n { // it has words like ApiKey
			camel, also := rowsOf(spelled(plain[:0], key, true))
			s, shown = max(s, camel), shown || also
		}
	}
	if s == SecretText && shown {
		return Shown
	}
	return s
}

// spelled is a key as the table has them: small letters, dots between parts, underscores between words. With camel a word begins at a capital
// letter that follows a small one or a digit, or that two small ones follow: HFToken has two words, TokenIDs too.
func spelled(out []byte, key string, camel bool) []byte {
	for i := range len(key) {
		switch c := key[i]; {
		case isCapital(c):
			if camel && i > 0 && (isSmall(key[i-1]) || isDigit(key[i-1]) || isCapital(key[i-1]) && i+2 < len(key) && isSmall(key[i+1]) && isSmall(key[i+2])) {
				out = append(out, '_')
			}
			out = append(out, c+'a'-'A')
		case c == '/' || c == ':' || c == '.':
			out = append(out, '.')
		case isSmall(c) || isDigit(c) || c >= 0x80:
			out = append(out, c)
		default:
			out = append(out, '_')
		}
	}
	return out
}

func isCapital(c byte) bool { return 'A' <= c && c <= 'Z' }
func isSmall(c byte) bool   { return 'a' <= c && c <= 'z' }
func isDigit(c byte) bool   { return '0' <= c && c <= '9' }

// rowsOf is what the rows that a key stands in hide, the most of any, and whether one of them shows it. The key is spelled as the table has them.
func rowsOf(key []byte) (s Secrecy, shown bool) {
	for at := 0; at < len(key); at++ { // at is where a word begins
		end := wordEnd(key, at)
		bare := end // digits at the end of a word do not make it another one: password2
		for bare > at && isDigit(key[bare-1]) {
			bare--
		}
		for _, sp := range spellings[string(key[at:bare])] {
			if !sp.stands(key, at) {
				continue
			}
			if sp.row.hides == Secret {
				return Secret, false
			}
			s = max(s, sp.row.hides)
			shown = shown || sp.row.hides == Shown
		}
		at = end
	}
	return s, shown
}

// stands reports whether a spelling is in a key at the beginning of a word of it, where its row wants it.
func (sp spelling) stands(key []byte, at int) bool {
	n := len(sp.text)
	if len(key)-at < n || string(key[at:at+n]) != sp.text {
		return false
	}
	before, after := key[:at], key[at+n:]
	for len(after) > 0 && isDigit(after[0]) {
		after = after[1:]
	}
	wholeBefore := at == 0 || key[at-1] == '.'
	wholeAfter := len(after) == 0 || after[0] == '.'
	switch sp.row.place {
	case parts:
		return wholeBefore && wholeAfter
	case begins:
		return wholeBefore
	}
	return (wholeAfter || after[0] == '_') && !describes(before, after)
}

// describes reports whether the words of a part of a key that stand before and after a secret one say that its values count or name something.
func describes(before, after []byte) bool {
	part := 0 // where it begins
	for i := len(before); i > 0 && part == 0; i-- {
		if before[i-1] == '.' {
			part = i
		}
	}
	if first := before[part:]; len(first) > 0 && counters[string(first[:wordEnd(first, 0)])] {
		return true
	}
	if len(after) == 0 || after[0] == '.' {
		return len(after) > 0 && names[string(after[1:])]
	}
	next := after[1:wordEnd(after, 1)]
	last, end := next, 1+len(next)
	for end < len(after) && after[end] == '_' {
		begin := end + 1
		end = wordEnd(after, begin)
		last = after[begin:end]
	}
	return measures[string(next)] || measures[string(last)] || end == 1+len(next) && (kinds[string(next)] || names[string(next)])
}

// wordEnd is where the word that begins at i ends.
func wordEnd(key []byte, i int) int {
	for i < len(key) && key[i] != '.' && key[i] != '_' {
		i++
	}
	return i
}
