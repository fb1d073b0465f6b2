// Reasons of failed model requests that an operator can act on, found by the codes and the known messages of
// providers.

/** Reasons that concern the model, with any status: some providers always use 400. */
export const reasonsOfModel: ReadonlySet<unknown> = new Set([
  'budget_exceeded',
  'context_length_exceeded',
  'insufficient_quota',
  'invalid_api_key',
  'invalid_model',
  'model_not_found',
  'no_db_connection',
  'not_found_error',
]);

const reasons: ReadonlySet<unknown> = new Set([
  ...reasonsOfModel,
  'overloaded_error',
  'rate_limit_exceeded',
  'tool_use_failed',
]);

/** Other codes of these reasons. */
const synonyms: ReadonlyMap<unknown, string> = new Map([
  ['exceed_context_size_error', 'context_length_exceeded'],
  ['json_validate_failed', 'tool_use_failed'],
  ['request_too_large', 'context_length_exceeded'],
]);

/** Wordings for an input that exceeds the context window. */
const contextWordings = [
  /context[_ ](?:length|limit|size|window)[_ ](?:(?:is|was|has been)[_ ])?exceed/,
  /exceeds? (?:\S+ ){0,4}context (?:length|limit|size|window)/,
  /(?:greater|larger|longer) than (?:\S+ ){0,3}context (?:length|size|window)/,
  /context length of only/,
  /max(?:imum)? (?:context|model|prompt|sequence|input) length/,
  /(?:input|prompt)(?: length)? is too (?:long|large)|(?:input|prompt) too long/,
  /token count .{0,40}exceeds|input tokens exceed|tokens? limit exceeded|exceeded (?:\S+ ){0,2}token limit/,
  /too many (?:input )?tokens|tokens in request more than max/,
  /reduce the length of the (?:messages|prompt|input)|too large for model with/,
  /max_new_tokens` must be <=/,
];
const contextExceeded = new RegExp(contextWordings.map(({ source }) => source).join('|'), 'i');
/** Rate limits use similar words. */
const rateLimited = /per minute|per day|rate.?limit|quota/i;

/**
 * Known messages of providers that have no error code for these reasons. A proxy puts its path, or the
 * exception of the provider, before the message.
 */
const reasonsByMessage: readonly (readonly [RegExp, string])[] = [
  [/^Your credit balance is too low/, 'insufficient_quota'],
  [/(?:^|- )Budget has been exceeded!/, 'budget_exceeded'],
  [/^API key (?:not valid|expired)|(?:^|- )Incorrect API key provided/, 'invalid_api_key'],
  [/(?:^|: |: ')Invalid model name passed in|(?:^|- )Invalid model '/, 'model_not_found'],
  [/^\S{1,200} is not a valid model ID$|^Model Not Exist$|^LLM Provider NOT provided/, 'model_not_found'],
  [/\btool_use_failed\b|^Failed to (?:call a function|parse tool call)/, 'tool_use_failed'],
];

/** Returns the reason in the codes of an error, in order of precedence, or in its message. */
export function reasonOf(codes: readonly unknown[], message: string): string | undefined {
  const known = codes.map((code) => synonyms.get(code) ?? code).find((code) => reasons.has(code));
  if (known !== undefined) return known as string;
  const byMessage = reasonsByMessage.find(([pattern]) => pattern.test(message))?.[1];
  const isContext = contextExceeded.test(message) && !rateLimited.test(message);
  return byMessage ?? (isContext ? 'context_length_exceeded' : undefined);
}
