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
      tool: undefined,
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
  'status 400 of %s for an unknown model, a wrong key or a spent budget concerns the model (ME3)',
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
])('status 400 that only quotes a known error text concerns the request, not the model: %s', (message) => {
  const answer = readError({}, openaiError(message));
  expect(answer.reason).toBeUndefined();
  expect(faultOfStatus(400, answer)).toMatchObject({ mayFallbackAnswer: false });
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
])('the refused tool is named if the request contained it: %s', (_, error, tool) => {
  const answer = readErrorAnswer(new Headers(), JSON.stringify({ error }), tools);
  expect(answer.tool).toBe(tool);
  expect(faultOfStatus(400, answer).description).toBe(
    tool === undefined
      ? 'answered 400'
      : `answered 400: it refuses the name or the inputSchema of the tool ${tool}`,
  );
});
