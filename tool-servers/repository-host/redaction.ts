// Takes the token out of everything, in case the host repeats it. It is done where an answer comes in, before anybody cuts
// it in the middle of the token, and again where a tool's answer goes out: results, errors, the log.
//
// As it is, and as JSON and addresses write it; in texts that go out, in base64 too. What comes in has files in base64, which
// would not be the same files afterwards: there it is not searched, nor in images and other binary files.

import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { type Clean, without } from '../../libs/rest/without-secrets.ts';
import type { Tool, ToolAnswer } from '../tool.ts';
import { ToolError } from '../tool-error.ts';

/** Far deeper than any parameter; names below are never repeated. */
const MAX_NAMES_DEPTH = 16;

/** What takes `secret` out of texts that go out: in base64 too, whatever stands before and behind it. */
export function thoroughCleanerOf(secret: string | undefined): Clean {
  if (secret === undefined) return without([]);
  const inBase64 = [0, 1, 2].map((before) => base64Within(secret, before));
  const inAddresses = inBase64.map((form) => form.replaceAll('+', '-').replaceAll('/', '_'));
  return without([secret], [...inBase64, ...inAddresses]);
}

/** The characters of base64 that hold nothing but `secret`, with `before` bytes of something else before it. */
function base64Within(secret: string, before: number): string {
  const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(secret)]);
  return bytes.toString('base64').slice(Math.ceil((before * 8) / 6), Math.floor((bytes.byteLength * 8) / 6));
}

/** `tool`, with its answers and errors cleaned. */
export function redacted(tool: Tool, clean: Clean): Tool {
  return {
    ...tool,
    async run(input, call) {
      try {
        return cleanAnswer(await tool.run(input, call), clean);
      } catch (error) {
        if (error instanceof ToolError) throw new ToolError(clean(error.message));
        // Of anything else the stack goes to the log; members of the error, such as the request, do not.
        throw new Error(clean(error instanceof Error ? (error.stack ?? error.message) : String(error)));
      }
    },
  };
}

/** `message`, with the names in it cleaned that are repeated when they are refused: of the tool and of its arguments. */
export function withCleanNames(message: JSONRPCMessage, clean: Clean): JSONRPCMessage {
  if (!('method' in message) || message.method !== 'tools/call') return message;
  const { name, arguments: given } = message.params ?? {};
  const params = {
    ...message.params,
    ...(typeof name === 'string' && { name: clean(name) }),
    ...(typeof given === 'object' && given !== null && { arguments: cleanNames(given, clean) }),
  };
  return { ...message, params };
}

function cleanAnswer(
  { text, structured, content }: ToolAnswer<Record<string, unknown>>,
  clean: Clean,
): ToolAnswer<Record<string, unknown>> {
  return {
    text: clean(text),
    ...(structured && { structured: cleanValue(structured, clean) as Record<string, unknown> }),
    ...(content && { content }),
  };
}

function cleanValue(value: unknown, clean: Clean): unknown {
  if (typeof value === 'string') return clean(value);
  return mapped(
    value,
    (each) => cleanValue(each, clean),
    (name) => name,
  );
}

function cleanNames(value: unknown, clean: Clean, depth = 0): unknown {
  if (depth === MAX_NAMES_DEPTH) return value;
  return mapped(value, (each) => cleanNames(each, clean, depth + 1), clean);
}

function mapped(value: unknown, change: (each: unknown) => unknown, rename: Clean): unknown {
  if (Array.isArray(value)) return value.map(change);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [rename(name), change(each)]));
}
