// Compiles the expressions of a flow, and its templates (texts with expressions in `{{ }}`). Collects the
// names of nodes and parameters in them; flow-names.ts checks these names when all nodes are known.

import * as Type from 'typebox';
import type { Variables } from '../../expressions/environment.ts';
import { type Expression, isFault, readExpression } from '../../expressions/expression.ts';
import {
  partReferences,
  readParts,
  readTemplate,
  type Template,
  type ValueTemplate,
} from '../../expressions/template.ts';
import { failingUrl, type UrlTemplate, urlTemplate } from '../../expressions/url-template.ts';
import { joinPath } from '../../reader/field-path.ts';
import type { SchemaReader } from '../../reader/schema-reader.ts';
import type { YamlTree } from '../../reader/yaml-tree.ts';
import { checkedVariables, type NameUse } from './flow-names.ts';

const anyText = Type.String();

/** Methods have the `path` of the field in the file, and the id of its `node`. Errors go to the reader. */
export class Compiler {
  readonly #reader: SchemaReader;
  readonly #variables: Variables;
  /** Compiled texts with the names in them. */
  readonly uses: NameUse[] = [];

  constructor(reader: SchemaReader, variables: Variables) {
    this.#reader = reader;
    this.#variables = variables;
  }

  /** Compiles a template. Returns undefined if it reported an error. */
  template(text: string | undefined, path: string, node: string): Template | undefined {
    if (text === undefined) return undefined;
    const read = readTemplate(text, this.#variables, checkedVariables);
    if ('message' in read) {
      this.#reader.reportWithin(path, text, read.at, read.message);
      return undefined;
    }
    this.uses.push({ path, text, references: read.references, node, isAfterNode: false });
    return read;
  }

  /**
   * Compiles a URL. If a single expression returns the whole URL, it must start with a prefix in `allowed`.
   * Returns undefined if it reported an error.
   */
  url(
    written: string | undefined,
    path: string,
    node: string,
    allowed: readonly URL[] | undefined,
  ): UrlTemplate | undefined {
    if (written === undefined) return undefined;
    const text = written.trim();
    const parts = readParts(text, this.#variables, checkedVariables);
    if ('message' in parts) {
      this.#reader.reportWithin(path, text, parts.at, parts.message);
      return undefined;
    }
    this.uses.push({ path, text, references: partReferences(parts), node, isAfterNode: false });
    const url = urlTemplate(parts, allowed);
    if ('message' in url) {
      // With severity `warning` the flow is loaded, but the node with this URL fails without sending.
      const severity = this.#reader.unsafeUrls;
      this.#reader.reportWithin(path, text, url.at, url.message, severity);
      return severity === 'error' ? undefined : failingUrl(url.message);
    }
    // URLs with a literal host encode the values of their expressions, so `encode()` there is redundant.
    for (const { content, at } of url.hasLiteralHost ? parts : [])
      if (typeof content === 'object' && content.functions.has('encode'))
        this.#reader.reportWithin(
          path,
          text,
          at,
          'would be encoded twice: remove encode(); urls encode values',
          'warning',
        );
    return url;
  }

  /**
   * Compiles an expression. `types` are the accepted result types, in addition to `dyn` (known only at
   * runtime). An expression with another type is reported and returned, so that the names in it are checked
   * too. Returns undefined for other errors.
   */
  expression(
    text: string | undefined,
    path: string,
    {
      node,
      isAfterNode = false,
      types,
      also = {},
    }: {
      readonly node: string;
      /** True if the expression is evaluated after its node, and may use the node's result. */
      readonly isAfterNode?: boolean;
      readonly types: readonly string[];
      /** Additional variables. */
      readonly also?: Variables;
    },
  ): Expression | undefined {
    if (text === undefined) return undefined;
    if (/^\s*\{\{.*\}\}\s*$/s.test(text)) {
      this.#reader.report(path, 'is already an expression: remove {{ }}');
      return undefined;
    }
    const read = readExpression(text, { ...this.#variables, ...also }, checkedVariables);
    if (isFault(read)) {
      this.#reader.reportWithin(path, text, read.at, read.message);
      return undefined;
    }
    // A result type may have parameters: `list` accepts `list<string>`.
    if (read.type !== 'dyn' && !types.some((type) => read.type.startsWith(type)))
      this.#reader.report(path, `returns ${read.type}, expected ${types.join(' or ')}`);
    this.uses.push({ path, text, references: read.references, node, isAfterNode });
    return read;
  }

  /** Compiles the texts in any value of the file. Returns undefined if it reported an error. */
  value(tree: YamlTree | undefined, path: string, node: string): ValueTemplate | undefined {
    if (tree === undefined) return undefined;
    this.#reader.recordPosition(path, tree.offset, tree.offset);
    if (tree.kind === 'list') {
      const items = tree.items.map((item, index) => this.value(item, joinPath(path, index), node));
      return items.includes(undefined) ? undefined : { kind: 'list', items: items as ValueTemplate[] };
    }
    if (tree.kind === 'map') {
      const members = tree.pairs.map(
        ({ key, value }) => [key, this.value(value, joinPath(path, key), node)] as const,
      );
      const areAllValid = members.every(([, member]) => member !== undefined);
      return areAllValid
        ? { kind: 'map', members: Object.fromEntries(members) as Record<string, ValueTemplate> }
        : undefined;
    }
    if (typeof tree.value !== 'string') return { kind: 'plain', value: tree.value };
    const text = this.#reader.read(anyText, tree, path) as string | undefined;
    if (text === undefined) return undefined;
    if (!text.includes('{{')) return { kind: 'plain', value: text };
    const template = this.template(text, path, node);
    return template && { kind: 'text', template };
  }
}
