// What a provider wants back of an answer of its own beside text and calls: thoughts with their signatures, ids of its own. It is
// kept as it came (PJ1).

import type {
  LanguageModelV3Message,
  LanguageModelV3StreamPart,
  SharedV3ProviderMetadata,
} from '@ai-sdk/provider';
import { toolArguments } from '../../../machines/agent-run/tool-arguments.ts';

export type AssistantPart = Extract<LanguageModelV3Message, { role: 'assistant' }>['content'][number];

/** `ModelAnswer.raw` where an answer has parts that cannot be made of its text and calls. */
export interface RawAnswer {
  readonly provider: string;
  readonly parts: readonly AssistantPart[];
}

interface Growing {
  readonly type: 'text' | 'reasoning';
  text: string;
  providerOptions?: SharedV3ProviderMetadata;
}

export class AnswerParts {
  readonly #parts: (AssistantPart | Growing)[] = [];
  /** Texts and thoughts under way, by their kinds and ids. */
  readonly #open = new Map<string, Growing>();

  add(part: LanguageModelV3StreamPart): void {
    switch (part.type) {
      case 'text-start':
      case 'reasoning-start':
        this.#begin(part.type === 'text-start' ? 'text' : 'reasoning', part);
        break;
      case 'text-delta':
      case 'text-end':
        this.#grow('text', part);
        break;
      case 'reasoning-delta':
      case 'reasoning-end':
        this.#grow('reasoning', part);
        break;
      case 'tool-call': {
        const { type, toolCallId, toolName, input, providerMetadata } = part;
        const call = { type, toolCallId, toolName, input: argumentsIn(input) };
        this.#parts.push(withOptions(call, providerMetadata));
      }
    }
  }

  /** Undefined where text and calls say all. */
  raw(provider: string): RawAnswer | undefined {
    const parts = this.#parts.filter((part) => part.type !== 'text' || part.text !== '');
    const isPlain = parts.every(
      (part) => (part.type === 'text' || part.type === 'tool-call') && part.providerOptions === undefined,
    );
    return isPlain ? undefined : { provider, parts };
  }

  #begin(type: Growing['type'], { id, providerMetadata }: Piece): void {
    const growing: Growing = withOptions({ type, text: '' }, providerMetadata);
    this.#open.set(`${type} ${id}`, growing);
    this.#parts.push(growing);
  }

  /** What comes later says more: a signature comes with the end. */
  #grow(type: Growing['type'], { id, delta = '', providerMetadata }: Piece): void {
    const growing = this.#open.get(`${type} ${id}`);
    if (growing === undefined) return;
    growing.text += delta;
    if (providerMetadata !== undefined) growing.providerOptions = providerMetadata;
  }
}

interface Piece {
  readonly id: string;
  readonly delta?: string;
  readonly providerMetadata?: SharedV3ProviderMetadata | undefined;
}

function withOptions<P extends object>(part: P, providerOptions: SharedV3ProviderMetadata | undefined): P {
  return providerOptions === undefined ? part : { ...part, providerOptions };
}

/** As they go back: providers take objects only; the result of a call whose arguments cannot be used says so. */
export function argumentsIn(text: string): Readonly<Record<string, unknown>> {
  const given = toolArguments(text);
  return typeof given === 'string' ? {} : given;
}
