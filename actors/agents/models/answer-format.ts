// An answer by a schema, asked in the way its provider has: by the schema itself, as some JSON, or in words.
//
// AQ1  it is never asked for less than the schema: where the provider does not take one, the schema stands in the prompt.

import type { ResolvedProvider } from '../../../config/gateway-file/providers.ts';
import type { ModelRequest } from './model.ts';

interface AnswerFormat {
  readonly system: string;
  readonly responseFormat:
    | { readonly type: 'json'; readonly schema?: Readonly<Record<string, unknown>> }
    | undefined;
}

export function answerFormat(
  { system, outputSchema, tools }: Pick<ModelRequest, 'system' | 'outputSchema' | 'tools'>,
  { type, structured_output }: Pick<ResolvedProvider, 'type' | 'structured_output'>,
): AnswerFormat {
  if (outputSchema === undefined) return { system, responseFormat: undefined };
  // Only OpenAI takes both: Google, Groq and llama.cpp refuse a format beside tools, with others no tool is called any more.
  const isInWords = structured_output === 'prompt' || (tools.length > 0 && type !== 'openai');
  if (structured_output === 'json_schema' && !isInWords)
    return { system, responseFormat: { type: 'json', schema: outputSchema } };
  const asked = `Your final answer is one JSON value by this JSON Schema, and nothing around it:\n${JSON.stringify(outputSchema)}`;
  return {
    system: system === '' ? asked : `${system}\n\n${asked}`,
    responseFormat: isInWords ? undefined : { type: 'json' },
  };
}
