// Invariant ME3 is in actors/agents/models/model-errors.ts.

import { expect, it } from 'vitest';
import { readErrorAnswer } from '../../../../../actors/agents/models/error-response.ts';
import { faultOfStatus } from '../../../../../actors/agents/models/model-errors.ts';

const readError = (headers: Record<string, string>, body: unknown = '') =>
  readErrorAnswer(new Headers(headers), typeof body === 'string' ? body : JSON.stringify(body));

it('the retry delay is read from headers and bodies of error responses of all providers', () => {
  expect(readError({ 'retry-after': '12' }).retryAfterMs).toBe(12_000);
  expect(readError({ 'retry-after': '12', 'retry-after-ms': '11200.5' }).retryAfterMs).toBe(11_201);
  const date = 'Mon, 23 Nov 2026 10:00:00 GMT';
  expect(readError({ date, 'retry-after': 'Mon, 23 Nov 2026 10:00:07 GMT' }).retryAfterMs).toBe(7_000);
  // Google's format. Some Google responses are arrays.
  const details = [null, { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '34.07s' }];
  expect(readError({}, { error: { code: 429, details } }).retryAfterMs).toBe(34_070);
  expect(readError({}, [{ error: { code: 429, details } }]).retryAfterMs).toBe(34_070);
  expect(readError({ 'retry-after': '2' }, { error: { details } }).retryAfterMs).toBe(2_000);
});

it('an error response without a retry delay yields no delay', () => {
  for (const body of [
    '',
    '<html>',
    'null',
    '[]',
    '{"error":"x"}',
    '{"error":{"details":7}}',
    '{"error":{"details":[{"retryDelay":"-1s"}]}}',
  ])
    expect(readError({ 'retry-after-ms': 'soon', 'retry-after': '' }, body)).toEqual({
      retryAfterMs: undefined,
      reason: undefined,
      code: undefined,
      field: undefined,
      tool: undefined,
      concernsImages: false,
    });
});

it('only known error reasons of a provider are reported (ME1)', () => {
  expect(readError({}, { error: { code: 'insufficient_quota' } }).reason).toBe('insufficient_quota');
  expect(readError({}, { error: { code: null, type: 'overloaded_error' } }).reason).toBe('overloaded_error');
  expect(readError({}, { error: { code: 'sk-secret', type: 'your text' } }).reason).toBeUndefined();
  expect(faultOfStatus(429, { reason: 'insufficient_quota' })).toMatchObject({
    description: 'answered 429 (insufficient_quota)',
    isUnusableNow: true,
    isRateLimited: true,
  });
});

const openaiError = (message: unknown, type: unknown = 'invalid_request_error', code: unknown = '400') => ({
  error: { message, type, param: null, code },
});

it.each<[string, unknown, string]>([
  [
    'LiteLLM',
    openaiError(
      '/chat/completions: Invalid model name passed in model=nope. Call `/v1/models` to view available models for your key.',
    ),
    'model_not_found',
  ],
  [
    'LiteLLM 1.61, with an object as the message',
    openaiError({ error: '/chat/completions: Invalid model name passed in model=nope.' }, 'None'),
    'model_not_found',
  ],
  [
    'LiteLLM of 2024',
    openaiError("400: {'error': 'Invalid model name passed in model=nope'}", 'None', 400),
    'model_not_found',
  ],
  [
    'LiteLLM, for a model of Perplexity',
    openaiError(
      "litellm.BadRequestError: PerplexityException - Invalid model 'sonar-x'. Permitted models can be found in the documentation",
      null,
    ),
    'model_not_found',
  ],
  ['LiteLLM without a database', openaiError('No connected db.', 'no_db_connection'), 'no_db_connection'],
  [
    'LiteLLM with a budget',
    openaiError('ExceededBudget: User=ada over budget. Spend=0.05, Budget=0.05', 'budget_exceeded'),
    'budget_exceeded',
  ],
  [
    'LiteLLM behind LiteLLM with a budget',
    openaiError(
      'litellm.BadRequestError: OpenAIException - Budget has been exceeded! Current cost: 14',
      null,
    ),
    'budget_exceeded',
  ],
  [
    'OpenRouter',
    { error: { message: 'a/b:free is not a valid model ID', code: 400 }, user_id: 'u' },
    'model_not_found',
  ],
  ['DeepSeek', openaiError('Model Not Exist', undefined, 'invalid_request_error'), 'model_not_found'],
  [
    'Mistral',
    { object: 'error', message: 'Invalid model: x', type: 'invalid_model', code: '1500' },
    'invalid_model',
  ],
  [
    'xAI',
    { code: 'Client specified an invalid argument', error: 'Incorrect API key provided: ke***ey.' },
    'invalid_api_key',
  ],
])(
  'status 400 of %s for an unknown model, a wrong key or a spent budget permits a fallback model (ME3)',
  (_, body, reason) => {
    const answer = readError({}, body);
    expect(answer.reason).toBe(reason);
    const fault = faultOfStatus(400, answer);
    expect(fault.description).toContain(`answered 400 (${reason})`);
    expect(fault).toMatchObject({ isFinal: true, mayFallbackAnswer: true });
  },
);

it.each([
  'I asked why the Invalid model name passed in was refused',
  'the text "x - y is not a valid model ID" is not allowed',
  'content policy: Incorrect API key provided in the prompt',
])(
  'status 400 whose message only quotes a known error text does not permit a fallback model: %s',
  (message) => {
    const answer = readError({}, openaiError(message));
    expect(answer.reason).toBeUndefined();
    expect(faultOfStatus(400, answer)).toMatchObject({ mayFallbackAnswer: false });
  },
);

it.each([
  ['Anthropic', 'prompt is too long: 213462 tokens > 200000 maximum'],
  [
    'Anthropic, with max_tokens',
    'input length and `max_tokens` exceed context limit: 197202 + 21333 > 200000',
  ],
  ['OpenAI', 'Your input exceeds the context window of this model.'],
  [
    'OpenAI of 2024',
    "This model's maximum context length is 8192 tokens. However, you requested 9100 tokens",
  ],
  ['Google', 'The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).'],
  ['Bedrock', 'Input is too long for requested model.'],
  [
    'Bedrock behind LiteLLM',
    'litellm.BadRequestError: BedrockException: Input Tokens Exceeded: input is too long.',
  ],
  [
    'Mistral',
    'Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length',
  ],
  ['xAI', "This model's maximum prompt length is 131072 but the request contains 537812 tokens."],
  ['Groq', 'Please reduce the length of the messages or completion.'],
  ['OpenRouter', "This endpoint's maximum context length is 131072 tokens."],
  ['llama.cpp', 'the request exceeds the available context size, try increasing it'],
  ['LM Studio', 'The number of tokens to keep from the initial prompt is greater than the context length.'],
  ['LM Studio, loaded', 'However, the model is loaded with context length of only 4096 tokens.'],
  ['vLLM', 'The decoder prompt (length 5000) is longer than the maximum model length of 4096.'],
  ['TGI', 'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000'],
  ['MiniMax', 'invalid params, context window exceeds limit (2013)'],
  ['Moonshot', 'Invalid request: Your request exceeded model token limit: 8192'],
  ['GitHub Copilot', 'prompt token count of 130000 exceeds the limit of 128000'],
  ['Zhipu', 'tokens in request more than max tokens allowed'],
  ['Cohere', 'too many tokens: total number of tokens in the prompt cannot exceed 4081'],
])('an input that exceeds the context window is recognized: %s', (_, message) => {
  const answer = readError({}, openaiError(message));
  expect(answer.reason).toBe('context_length_exceeded');
  expect(faultOfStatus(400, answer)).toMatchObject({ isFinal: true, mayFallbackAnswer: true });
});

it.each([
  { error: { code: 400, type: 'exceed_context_size_error', message: 'x', n_ctx: 4096 } },
  { type: 'error', error: { type: 'request_too_large', message: 'x' } },
  { error: { code: 'context_length_exceeded', message: 'x' } },
])('an error code for an exceeded context window is recognized: %j', (body) => {
  expect(readError({}, body).reason).toBe('context_length_exceeded');
});

it.each([
  'Rate limit reached: too many tokens per minute',
  'max_tokens must be at least 1',
  'messages: text content blocks must be non-empty',
  'the context of this answer is not allowed',
])('an error message about something else is not taken for an exceeded context window: %s', (message) => {
  expect(readError({}, openaiError(message)).reason).toBeUndefined();
});

it.each<[string, object]>([
  [
    'Groq',
    { error: { message: 'Failed to call a function. Please adjust your prompt.', code: 'tool_use_failed' } },
  ],
  ['Groq, for JSON', { error: { message: 'Failed to generate JSON.', code: 'json_validate_failed' } }],
  [
    'Groq behind OpenRouter',
    {
      error: {
        message: 'Provider returned error',
        code: 400,
        metadata: { raw: '{"error":{"code":"tool_use_failed"}}' },
      },
    },
  ],
  [
    'Groq behind LiteLLM',
    openaiError('litellm.BadRequestError: GroqException - {"error":{"code":"tool_use_failed"}}'),
  ],
])('an error because the model wrote an invalid tool call is temporary: %s', (_, body) => {
  const answer = readError({}, body);
  expect(answer.reason).toBe('tool_use_failed');
  expect(faultOfStatus(400, answer)).toMatchObject({ isFinal: false, isRateLimited: false });
});

const tools = ['search', 'lookup', 'save'];

it.each<[string, object, string | undefined]>([
  [
    'OpenAI',
    {
      message: "Invalid schema for function 'lookup': schema must have type 'object'",
      param: 'tools[0].parameters',
    },
    'lookup',
  ],
  [
    'OpenAI, by its index only',
    { message: 'Invalid schema.', param: 'tools[1].function.parameters' },
    'lookup',
  ],
  ['Anthropic', { message: 'tools.1.custom.input_schema: JSON schema is invalid' }, 'lookup'],
  [
    'Google',
    {
      message:
        'GenerateContentRequest.tools[0].function_declarations[2].parameters.properties[a].items: missing field.',
    },
    'save',
  ],
  [
    'a name that the request did not contain',
    { message: "Invalid schema for function 'sk-secret'" },
    undefined,
  ],
  ['an index that the request did not contain', { message: 'tools.9.custom: x' }, undefined],
])(
  'the error about a refused tool names the tool only if the request contained this tool: %s',
  (_, error, tool) => {
    const answer = readErrorAnswer(new Headers(), JSON.stringify({ error }), tools);
    expect(answer.tool).toBe(tool);
    const { description, refusedTool } = faultOfStatus(400, answer);
    expect(refusedTool).toBe(tool);
    if (tool === undefined) expect(description).not.toContain('the tool');
    else
      expect(description).toMatch(
        new RegExp(`: it refuses the name or the inputSchema of the tool ${tool}$`),
      );
    expect(description).not.toContain('secret');
  },
);

it.each<[object, string]>([
  [{ type: 'invalid_request_error', message: 'x' }, ' (invalid_request_error)'],
  [
    { code: 'invalid_function_parameters', param: 'tools[0].parameters' },
    ' (invalid_function_parameters, tools[0].parameters)',
  ],
  [
    { status: 'INVALID_ARGUMENT', code: 400, message: '* GenerateContentRequest.contents[2].parts: x' },
    ' (INVALID_ARGUMENT, contents[2].parts)',
  ],
  [
    { message: 'tools.3.custom.input_schema.properties.sk-secret: x' },
    ' (tools.3.custom.input_schema.properties)',
  ],
  [{ code: 'sk_secret_key_1', param: 'secret' }, ''],
  [{ code: 'secret', param: 'tools[0].secret.x' }, ' (tools[0])'],
  [{ type: 'x'.repeat(200), param: '../../etc' }, ''],
])(
  'the code and the field path of a provider error are reported only in fixed forms (ME1): %j',
  (error, details) => {
    const answer = readErrorAnswer(new Headers(), JSON.stringify({ error }), tools);
    expect(faultOfStatus(422, { ...answer, tool: undefined }).description).toBe(`answered 422${details}`);
  },
);
