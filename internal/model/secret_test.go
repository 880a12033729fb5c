package model

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
)

// R3.6 by name: keys that hide every value, keys that hide text alone, and keys beside them that hide nothing.
func TestSecrecyOf(t *testing.T) {
	for want, keys := range map[Secrecy]string{
		Secret: `
			token_ids Token_IDs prompt_token_ids promptTokenIds output_token_ids input_ids
			gen_ai.prompt gen_ai.prompts gen_ai.prompt.0.content gen_ai.prompt.name gen_ai.completion gen_ai.completion.0.finish_reason x.gen_ai.prompt
			gen_ai.input.messages gen_ai.input.messages.0.content gen_ai.output.messages gen_ai.system_instructions
			cache_salt CACHE_SALT cacheSalt kv_transfer_params.cache_salt kv_ack.detail
			traceparent traceParent tRaceparent tracestate http.request.header.traceparent
			authorization Authorization http.request.header.authorization http.request.header.proxy-authorization rpc.grpc.request.metadata.authorization
			cookie cookies set-cookie Set-Cookie http.request.header.cookie http.response.header.set-cookie http.response.header.set-cookie.0
			api_key apiKey APIKey apikey x-api-key X-API-Key http.request.header.x-api-key OPENAI_API_KEY
			password passwd db.password user_password client_secret AWS_SECRET_ACCESS_KEY credentials gcp/credentials secret
			access_token accessToken refresh_token id_token http.request.header.x-auth-token HF_TOKEN x-amz-security-token bearer
			x-goog-iap-jwt-assertion Ocp-Apim-Subscription-Key private_key llm.headers db.connection_string usage.api_key password.type
			HFToken hfToken myHFToken APIKey userAPIKey OpenAIAPIKey openAIAPIKey azure.OpenAIAPIKey JWTToken AWSSecretAccessKey promptTokenIDs TokenIDs tokenIDsText
			password2 db.password12 password2_text password2Text api_key2 api_keys2.0 cache_salts cacheSalts
			usage.APIKey cost.apiKey aws.secretsmanager.secret k8s.secret.name.0 k8s.secret.data secret.name.text gen_ai.prompt.path secret_name_text`,
		SecretText: `
			prompt prompts prompt_text system_prompt negative_prompt prompt_embeds prompt_logprobs llm.prompts llm.prompts.0.content llm.prompts.0.prompt.text
			llm.completions.0.content completion llm.content.completion.chunk traceloop.prompt.template llm.prompt_template.variables ai.prompt.messages
			messages llm.input_messages.0.message.content llm.output_messages message.content all_messages_events
			input output inputs input.value output.value traceloop.entity.input traceloop.entity.output mlflow.spanInputs langfuse.observation.output
			content document.content retrieval.documents.3.document.content choices choices.0.text ai.response.text generated_text
			gen_ai.tool.call.arguments ai.toolCall.args tool_calls gen_ai.tool.definitions mcp.response.value
			gen_ai.retrieval.query.text embedding.embeddings.0.embedding.vector reranker.query gen_ai.retrieval.documents token
			prompt2 systemPrompt2 input2.value LLMPrompt userLLMPrompts mimeType.output llm.tokenCounts.prompt`,
		Shown: `
			gen_ai.usage.prompt_tokens gen_ai.usage.completion_tokens gen_ai.usage.input_tokens llm.usage.total_tokens prompt_tokens completion_tokens n_prompt_tokens
			token_count llm.token_count.prompt llm.token_count.completion_details.reasoning llm.cost.prompt hit_tokens tokens max_tokens num_tokens
			num_token_ids token_ids_count num_prompt_token_ids token_ids_len prompt_tokens_cached_total prompt_tokens_details promptTokens prompt_len prompt_length_bytes
			time_to_first_token gen_ai.token.type prompt_id prompt_version prompt_throughput avg_prompt_throughput completion_time completion_reason
			authorization_mode api_key_id password_policy has_cookie cookie_count num_cookies max_prompt_len is_secret_set
			gen_ai.output.type input.mime_type content_type content-length http.request.header.content-type input_type output_path prompting impromptu
			llm.tokenCount.prompt llm.tokenCount.completionDetails.reasoning llm.token_count.promptDetails output.mimeType input.mimeType llm.usage.systemPrompt
			k8s.secret.name aws.secretsmanager.secret.arn secret.path private_key_path privateKeyPath secret_name secret_arn cookie_name cookie.name prompt_name prompts.name
			numTokenIDs NumTokenIds password2_length APIKeyID JWTs password2nd 2 0.1
			kv_ack kv_ack.details gen_ai gen_ai.system gen_ai.request.model request_id external_request_id session_id model engine_id device
			error exception.message db.query.text http.url user.id tokenizer secretary cookiecutter chunk_hashes api keys key messaging.system`,
	} {
		for _, key := range strings.Fields(keys) {
			if got := SecrecyOf(key); got != want {
				t.Errorf("SecrecyOf(%q) = %d, want %d", key, got, want)
			}
		}
	}
	if got := SecrecyOf(""); got != Shown {
		t.Errorf("of no key: %d", got)
	}
	if got := SecrecyOf("api key"); got != Secret {
		t.Errorf("of a key with a blank: %d", got)
	}
}

// What the table of attributes names is read, and shown.
func TestVocabularyIsShown(t *testing.T) {
	for k := AttrNone + 1; k < NumAttrs; k++ {
		if got := SecrecyOf(Attrs[k].Name); got != Shown {
			t.Errorf("SecrecyOf(%q) = %d", Attrs[k].Name, got)
		}
	}
}

// A number or a truth is hidden under a key that hides every value alone, text under either; what is written as text is text.
func TestSecretsByKind(t *testing.T) {
	for key, want := range map[string]string{
		"prompt":        `12 0.5 true <redacted 2 bytes> <redacted 5 bytes>`,
		"api_key":       `<redacted 2 bytes> <redacted 3 bytes> <redacted 4 bytes> <redacted 2 bytes> <redacted 5 bytes>`,
		"prompt_length": `12 0.5 true 12 [1,2]`,
	} {
		b := NewBatch(NewDict(), true)
		b.Begin()
		k := b.Wants([]byte(key))
		b.AddInt(k, 12)
		b.AddFloat(k, 0.5)
		b.AddBool(k, true)
		b.AddText(k, []byte("12"))
		b.AddJSON(k, []byte("[1,2]"))
		b.End()
		var got []string
		for i := range b.Attrs {
			a := &b.Attrs[i]
			v := Value{Kind: a.Kind, Int: int64(a.Bits), Float: math.Float64frombits(a.Bits), Str: string(b.TextOf(a))}
			got = append(got, v.Text())
		}
		if have := strings.Join(got, " "); have != want {
			t.Errorf("%s: %s, want %s", key, have, want)
		}
	}
}

// docs/rules.md has the table.
func TestSecretsInDocs(t *testing.T) {
	page, err := os.ReadFile("../../docs/rules.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range secretKeys {
		names := "`" + strings.Join(strings.Fields(row.words), "` `") + "`"
		where := map[place]string{parts: "whole parts", begins: "whole parts, the last may go on", among: "words"}[row.place]
		hides := map[Secrecy]string{Secret: "every value", SecretText: "text", Shown: "nothing"}[row.hides]
		line := fmt.Sprintf("  | %s | %s | %s | %s |\n", names, where, hides, row.why)
		if !strings.Contains(string(page), line) {
			t.Errorf("docs/rules.md does not have\n%s", line)
		}
	}
}

func BenchmarkSecrecyOf(b *testing.B) {
	keys := []string{"hit_rate", "gen_ai.usage.num_sequences", "http.request.header.user-agent", "net.peer.port",
		"llm.prompts.0.content", "throughput_GB_per_second"}
	for b.Loop() {
		for _, k := range keys {
			SecrecyOf(k)
		}
	}
}
