// Properties of models that the gateway learns from their answers: refused tools, refused images, and
// thoughts that have no opening mark. They are kept in memory, by the full name of the model.

import { createHash } from 'node:crypto';
import { deleteOldest } from '../../base/bounds/delete-oldest.ts';
import type { OfferedTool } from './model.ts';

/** Limits of models, and of tools per model. */
const MAX_MODELS = 1_000;
const MAX_TOOLS = 1_000;

export class ModelTraits {
  /** True if the model accepts no images. */
  refusesImages = false;
  /** True if the model ends thoughts that it does not open (thought-filter.ts). */
  hasUnopenedThoughts = false;
  readonly #refusedTools = new Map<string, string>();

  /** Returns the reason of the refusal; undefined if the tool may be offered. */
  refusalOf(tool: OfferedTool): string | undefined {
    return this.#refusedTools.size === 0 ? undefined : this.#refusedTools.get(keyOf(tool));
  }

  refuseTool(tool: OfferedTool, reason: string): void {
    this.#refusedTools.set(keyOf(tool), reason);
    deleteOldest(this.#refusedTools, MAX_TOOLS);
  }
}

/** Contains the schema, because a changed tool may be accepted. */
function keyOf({ name, description, inputSchema }: OfferedTool): string {
  const text = JSON.stringify([name, description, inputSchema]);
  return createHash('sha256').update(text).digest('base64url');
}

export class KnownModels {
  readonly #traits = new Map<string, ModelTraits>();

  traitsOf(model: string): ModelTraits {
    const traits = this.#traits.get(model) ?? new ModelTraits();
    this.#traits.set(model, traits);
    deleteOldest(this.#traits, MAX_MODELS);
    return traits;
  }
}
