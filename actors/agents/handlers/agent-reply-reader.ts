// Parses an agent's HTTP reply while it arrives: JSON with the text in `text`, `output` or `answer`; plain
// text; or an SSE stream of texts, which are concatenated. `data: [DONE]` completes a stream before its
// connection closes. An incomplete stream has a preview: the text so far, or the text of the latest
// `progress` event, which is no part of the answer. The caller limits the size. Levels and values of JSON are
// counted before parsing.

import { parseJson } from '../../../config/reader/json-text.ts';
import { isTooDeep, MAX_DEPTH } from '../../../libs/rest/json-depth.ts';
import { MAX_PARSE_COST, parseCost } from '../../base/bounds/parse-cost.ts';
import { SseParser } from '../../mcp/links/sse/sse-parser.ts';
import type { AgentReply } from './handler.ts';

const TEXTS = ['text', 'output', 'answer'];

export class AgentReplyReader {
  readonly #kind: 'json' | 'text' | 'stream';
  readonly #chunks: Buffer[] = [];
  #text = '';
  #preview: string | undefined;
  readonly #parser: SseParser;
  #isDone = false;
  #hasFailed = false;

  constructor(contentType: string) {
    const type = /^[^;]*/.exec(contentType)?.[0].trim().toLowerCase() ?? '';
    if (type === 'text/event-stream') this.#kind = 'stream';
    else this.#kind = type === 'text/plain' ? 'text' : 'json';
    const cursor = { lastEventId: '', retryMs: undefined };
    this.#parser = new SseParser(Number.MAX_SAFE_INTEGER, cursor, {
      onEvent: (name, data) => this.#onEvent(name, data),
      onOversizedEvent: () => {},
    });
  }

  /** True after an `error` event in the stream. */
  get hasFailed(): boolean {
    return this.#hasFailed;
  }

  /** Text to show while the answer is incomplete. */
  get preview(): string | undefined {
    return this.#preview;
  }

  /** Adds the next bytes. Returns true when the stream is complete. */
  feed(chunk: Buffer): boolean {
    if (this.#kind === 'stream') this.#parser.feed(chunk);
    else this.#chunks.push(chunk);
    return this.#isDone;
  }

  /** Returns the complete answer. Throws if the body is not a valid answer. */
  end(): AgentReply {
    if (this.#kind === 'stream') return { text: this.#text };
    const body = Buffer.concat(this.#chunks);
    return this.#kind === 'text' ? { text: body.toString('utf8') } : answerOf(body);
  }

  #onEvent(name: string, data: Buffer): void {
    if (this.#isDone) return;
    if (name === 'error') this.#hasFailed = true;
    if (name === 'error' || data.equals(END)) this.#isDone = true;
    else if (name === 'progress') this.#preview = textOfEvent(data);
    else {
      this.#text += textOfEvent(data);
      this.#preview = this.#text;
    }
  }
}

const END = Buffer.from('[DONE]');

/** Returns the reason if JSON must not be parsed. */
function excessOf(body: Buffer, text: string): string | undefined {
  if (parseCost(body, MAX_PARSE_COST) > MAX_PARSE_COST) return 'too many values';
  return isTooDeep(text) ? `more than ${MAX_DEPTH} levels` : undefined;
}

function answerOf(body: Buffer): AgentReply {
  const text = body.toString('utf8');
  if (text.trim() === '') return { text: '' };
  const excess = excessOf(body, text);
  if (excess !== undefined) throw new Error(`answered JSON with ${excess}`);
  let value: unknown;
  try {
    value = parseJson(text);
  } catch {
    throw new Error('answered with a body that is not JSON');
  }
  if (typeof value === 'string') return { text: value };
  const textMember = textIn(value, TEXTS);
  if (textMember === undefined) throw new Error(`answered JSON without a text in ${TEXTS.join(', ')}`);
  const rest = Object.entries(value as object).filter(([name]) => name !== textMember.name);
  return rest.length === 0
    ? { text: textMember.text }
    : { text: textMember.text, data: Object.fromEntries(rest) };
}

/** Returns an event's text: its data, or a text member of JSON data. */
function textOfEvent(data: Buffer): string {
  const text = data.toString('utf8');
  if (!text.startsWith('{') || excessOf(data, text) !== undefined) return text;
  try {
    return textIn(JSON.parse(text), [...TEXTS, 'delta'])?.text ?? text;
  } catch {
    return text;
  }
}

function textIn(
  value: unknown,
  names: readonly string[],
): { readonly name: string; readonly text: string } | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  for (const name of names) {
    const text = (value as Readonly<Record<string, unknown>>)[name];
    if (typeof text === 'string') return { name, text };
  }
  return undefined;
}
