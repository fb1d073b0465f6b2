// Removes the token from all texts, in case the host returns it. Responses are redacted on arrival, before
// they are truncated, and tool output is redacted again: results, errors and logs.
//
// The token is detected in plain, JSON and URL encoding; in output also in base64. Responses are not searched
// for base64: a match inside a base64 file would corrupt it. Images and other binary files are not searched.

import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { type Clean, secretRemover } from '../../libs/rest/without-secrets.ts';
import type { ServerTool, ServerToolOutput } from '../tool.ts';
import { ToolError } from '../tool-error.ts';

/** Maximum depth of redacted names; error messages never repeat deeper names. */
const MAX_NAMES_DEPTH = 16;

/** Returns the redaction for output, which also removes base64 forms of `secret` at all alignments. */
export function outboundCleanerOf(secret: string | undefined): Clean {
  if (secret === undefined) return secretRemover([]);
  const inBase64 = [0, 1, 2].map((before) => base64FormOf(secret, before));
  const inBase64Url = inBase64.map((form) => form.replaceAll('+', '-').replaceAll('/', '_'));
  return secretRemover([secret], [...inBase64, ...inBase64Url]);
}

/** Returns the base64 characters that encode only `secret`, if `before` other bytes precede it. */
function base64FormOf(secret: string, before: number): string {
  const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(secret)]);
  return bytes.toString('base64').slice(Math.ceil((before * 8) / 6), Math.floor((bytes.byteLength * 8) / 6));
}

/** Returns `tool` with redacted results and errors. */
export function withRedaction(tool: ServerTool, clean: Clean): ServerTool {
  return {
    ...tool,
    async run(input, call) {
      try {
        return cleanOutput(await tool.run(input, call), clean);
      } catch (error) {
        if (error instanceof ToolError) throw new ToolError(clean(error.message));
        // The stack of unexpected errors is logged; members such as the request are not.
        throw new Error(clean(error instanceof Error ? (error.stack ?? error.message) : String(error)));
      }
    },
  };
}

/** Redacts the tool name and argument names, because error messages repeat them. */
export function cleanRequestNames(message: JSONRPCMessage, clean: Clean): JSONRPCMessage {
  if (!('method' in message) || message.method !== 'tools/call') return message;
  const { name, arguments: input } = message.params ?? {};
  const params = {
    ...message.params,
    ...(typeof name === 'string' && { name: clean(name) }),
    ...(typeof input === 'object' && input !== null && { arguments: cleanNames(input, clean) }),
  };
  return { ...message, params };
}

function cleanOutput(
  { text, structured, content }: ServerToolOutput<Record<string, unknown>>,
  clean: Clean,
): ServerToolOutput<Record<string, unknown>> {
  return {
    text: clean(text),
    ...(structured && { structured: cleanValue(structured, clean) as Record<string, unknown> }),
    ...(content && { content }),
  };
}

function cleanValue(value: unknown, clean: Clean): unknown {
  if (typeof value === 'string') return clean(value);
  return mapEntries(
    value,
    (each) => cleanValue(each, clean),
    (name) => name,
  );
}

function cleanNames(value: unknown, clean: Clean, depth = 0): unknown {
  if (depth === MAX_NAMES_DEPTH) return value;
  return mapEntries(value, (each) => cleanNames(each, clean, depth + 1), clean);
}

function mapEntries(value: unknown, change: (each: unknown) => unknown, rename: Clean): unknown {
  if (Array.isArray(value)) return value.map(change);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [rename(name), change(each)]));
}
