// Parses a configuration file to a tree. A name that ends in .toml means TOML, the format of some clients.
// Any other file is parsed as YAML, which includes JSON.

import type { SourceFile } from './source-file.ts';
import { type ParsedYaml, parseYamlTree } from './yaml-tree.ts';

/** Parses a file. Never rejects. */
export async function parseFileTree(source: SourceFile): Promise<ParsedYaml> {
  if (!isTomlPath(source.path)) return parseYamlTree(source);
  const { parseTomlTree } = await import('./toml-tree.ts');
  return parseTomlTree(source);
}

export const isTomlPath = (path: string): boolean => /\.toml$/i.test(path);
