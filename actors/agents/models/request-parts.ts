// Parts in a model request that a provider may refuse: tools and images. A refused part is omitted, and the
// request is repeated. An omission that helped is remembered for the model.

import type { ResolvedProvider } from '../../../config/gateway-file/providers.ts';
import type { ModelMessage, ModelRequest, OfferedTool } from './model.ts';
import type { ModelFault } from './model-errors.ts';
import type { ModelTraits } from './model-traits.ts';
import { type ToolForm, toolForm } from './tool-schemas/tool-form.ts';

/** Limit of tools that one request omits after refusals. */
const MAX_OMITTED = 16;

export interface OmittedTool {
  readonly tool: string;
  readonly reason: string;
}

export class ModelRequestParts {
  readonly #request: ModelRequest;
  readonly #traits: ModelTraits;
  /** Refusals of this request, by tool. */
  readonly #refused = new Map<OfferedTool, string>();
  readonly #forms: ReadonlyMap<OfferedTool, ToolForm | undefined>;
  #hasImages: boolean;

  constructor(request: ModelRequest, type: ResolvedProvider['type'], traits: ModelTraits) {
    this.#request = request;
    this.#traits = traits;
    const form = type === 'google' ? 'google' : 'json';
    this.#forms = new Map(request.tools.map((tool) => [tool, toolForm(tool, form)]));
    this.#hasImages = !traits.refusesImages && request.messages.some(hasImages);
  }

  /** The request without refused images. */
  get request(): ModelRequest {
    if (this.#hasImages) return this.#request;
    return { ...this.#request, messages: this.#request.messages.map(withoutImages) };
  }

  /** Offered tools in the form of the provider. */
  get forms(): readonly ToolForm[] {
    return [...this.#forms].flatMap(([tool, form]) =>
      form === undefined || this.#reasonOf(tool) !== undefined ? [] : [form],
    );
  }

  get omitted(): readonly OmittedTool[] {
    return [...this.#forms].flatMap(([tool, form]) => {
      const reason = form === undefined ? 'no arguments can match its inputSchema' : this.#reasonOf(tool);
      return reason === undefined ? [] : [{ tool: tool.name, reason }];
    });
  }

  /** Omits the refused part. Returns false if the fault concerns no part of the request. */
  omit({ refusedTool, mayRefuseImages, description }: ModelFault): boolean {
    const tool = this.#request.tools.find(({ name }) => name === refusedTool);
    if (tool !== undefined && this.#refused.size < MAX_OMITTED && this.#reasonOf(tool) === undefined) {
      this.#refused.set(tool, description);
      return true;
    }
    if (mayRefuseImages !== true || !this.#hasImages) return false;
    this.#hasImages = false;
    return true;
  }

  /** Remembers which parts a successful request omitted. Returns true if the model now refuses images. */
  remember(): boolean {
    for (const [tool, reason] of this.#refused) this.#traits.refuseTool(tool, reason);
    const refusesImages = !this.#hasImages && this.#request.messages.some(hasImages);
    const isNew = refusesImages && !this.#traits.refusesImages;
    this.#traits.refusesImages ||= refusesImages;
    return isNew;
  }

  #reasonOf(tool: OfferedTool): string | undefined {
    return this.#refused.get(tool) ?? this.#traits.refusalOf(tool);
  }
}

const hasImages = (message: ModelMessage): boolean =>
  message.role === 'tool' && message.results.some(({ images }) => images !== undefined);

function withoutImages(message: ModelMessage): ModelMessage {
  if (message.role !== 'tool') return message;
  return { ...message, results: message.results.map(({ images: _, ...result }) => result) };
}
