// A node with the context for reading its `config`.

import type { SchemaReader } from '../../reader/schema-reader.ts';
import type { YamlTree } from '../../reader/yaml-tree.ts';
import type { Compiler } from './compiler.ts';
import type { FlowBody } from './flow.ts';
import type { InlineHandlers } from './inline-handlers.ts';

export interface NodeToRead {
  readonly reader: SchemaReader;
  readonly compiler: Compiler;
  readonly inline: InlineHandlers;
  readonly id: string;
  /** Path of the node's `config`. */
  readonly path: string;
  readonly tree: YamlTree | undefined;
  /** Valid members of `config`, with defaults. */
  readonly config: Readonly<Record<string, unknown>>;
  /** Returns the loop body; undefined if it has errors. */
  body(): FlowBody | undefined;
}
