// Reads the reply of an agent as it comes: JSON with the text in `text`, `output` or `answer`, plain text, or a stream
// of events whose texts are put together. `data: [DONE]` ends a stream before its connection does. Of a stream there is
// something to show before it ends: the text so far, or what an event named `progress` says, which is no part of the answer.

import { SseParser } from '../../mcp/links/sse/sse-parser.ts';
import type { AgentReply } from './handler.ts';

const TEXTS = ['text', 'output', 'answer'];

export class AgentReplyReader {
  readonly #kind: 'json' | 'text' | 'stream';
  readonly #chunks: Buffer[] = [];
  #text = '';
  #shown: string | undefined;
  readonly #parser: SseParser;
  #isDone = false;
  #hasFailed = false;

  constructor(contentType: string) {
    const type = /^[^;]*/.exec(contentType)?.[0].trim().toLowerCase() ?? '';
    if (type === 'text/event-stream') this.#kind = 'stream';
    else this.#kind = type === 'text/plain' ? 'text' : 'json';
    // What is read at all is bounded before it comes here.
    const cursor = { lastEventId: '', retryMs: undefined };
    this.#parser = new SseParser(Number.MAX_SAFE_INTEGER, cursor, {
      onEvent: (name, data) => this.#onEvent(name, data.toString('utf8')),
      onOversizedEvent: () => {},
    });
  }

  /** The agent said in its stream that it has failed. */
  get hasFailed(): boolean {
    return this.#hasFailed;
  }

  /** What there is to show while the answer is not whole. */
  get shown(): string | undefined {
    return this.#shown;
  }

  /** Takes the next bytes; true when nothing more is waited for. */
  feed(chunk: Buffer): boolean {
    if (this.#kind === 'stream') this.#parser.feed(chunk);
    else this.#chunks.push(chunk);
    return this.#isDone;
  }

  /** The whole answer. Throws for one that is none. */
  end(): AgentReply {
    if (this.#kind === 'stream') return { text: this.#text };
    const text = Buffer.concat(this.#chunks).toString('utf8');
    return this.#kind === 'text' ? { text } : answerOf(text);
  }

  #onEvent(name: string, data: string): void {
    if (this.#isDone) return;
    if (name === 'error') this.#hasFailed = true;
    if (name === 'error' || data === '[DONE]') this.#isDone = true;
    else if (name === 'progress') this.#shown = textOfEvent(data);
    else {
      this.#text += textOfEvent(data);
      this.#shown = this.#text;
    }
  }
}

function answerOf(text: string): AgentReply {
  if (text.trim() === '') return { text: '' };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Error('answered with a body that is no JSON');
  }
  if (typeof value === 'string') return { text: value };
  const found = textIn(value, TEXTS);
  if (found === undefined) throw new Error(`answered JSON without a text in ${TEXTS.join(', ')}`);
  const rest = Object.entries(value as object).filter(([name]) => name !== found.name);
  return rest.length === 0 ? { text: found.text } : { text: found.text, data: Object.fromEntries(rest) };
}

/** A piece is text as it is, or JSON with the text in it. */
function textOfEvent(data: string): string {
  if (!data.startsWith('{')) return data;
  try {
    return textIn(JSON.parse(data), [...TEXTS, 'delta'])?.text ?? data;
  } catch {
    return data;
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
