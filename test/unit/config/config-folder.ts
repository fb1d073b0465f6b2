// Test folder with a gateway file and a catalog, which the real loader reads. Problems are returned as
// values.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type LoadedConfig, type LoadOptions, loadConfig } from '../../../config/load-config.ts';
import { ConfigError, type Problem } from '../../../config/reader/problem.ts';
import type { Environment } from '../../../config/reader/substitute.ts';
import { newFolder } from '../../fixtures/new-folder.ts';

export interface Attempt {
  readonly loaded?: LoadedConfig;
  readonly problems: readonly Problem[];
  /** `file:line:column: message` or `file:line:column: warning: message`, with the file name only. */
  readonly lines: readonly string[];
}

export class ConfigFolder {
  readonly path = newFolder('gateway-config-');

  write(name: string, content: string | Uint8Array): string {
    const file = join(this.path, name);
    writeFileSync(file, content);
    return file;
  }

  /** Loads the files. Rejects with errors other than ConfigError. */
  async load(env: Environment = {}, name = 'gateway.yaml', options: LoadOptions = {}): Promise<Attempt> {
    try {
      const loaded = await loadConfig(join(this.path, name), env, options);
      return { loaded, ...this.#told(loaded.warnings) };
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      return this.#told(error.problems);
    }
  }

  /** Writes and loads a catalog with a minimal gateway file. */
  async loadCatalog(catalog: string, env: Environment = {}, name = 'catalog.yaml'): Promise<Attempt> {
    this.write('gateway.yaml', `listen_addr: 127.0.0.1:0\ncatalog_path: ${name}\n`);
    this.write(name, catalog);
    return this.load(env);
  }

  /** Writes and loads a gateway file with an empty catalog. */
  async loadGateway(lines: string, env: Environment = {}): Promise<Attempt> {
    this.write('catalog.yaml', 'servers: {}\n');
    this.write('gateway.yaml', lines);
    return this.load(env);
  }

  #told(problems: readonly Problem[]): { problems: readonly Problem[]; lines: string[] } {
    const lines = problems.map(({ file, line, column, message, severity }) => {
      const name = file.startsWith(this.path) ? file.slice(this.path.length + 1) : file;
      return `${name}:${line}:${column}: ${severity === 'warning' ? 'warning: ' : ''}${message}`;
    });
    return { problems, lines };
  }
}
