// Test folder with trigger and agent files, which the real loader reads. Problems are returned as lines with
// the file name.

import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { SecretValues } from '../../../../config/reader/secret-values.ts';
import {
  type LoadedResources,
  type LoadResourcesOptions,
  loadResources,
} from '../../../../config/resources/load-resources.ts';
import type { Trigger } from '../../../../config/resources/triggers/trigger.ts';
import { newFolder } from '../../../fixtures/new-folder.ts';

export interface LoadedFolder extends LoadedResources {
  /** `file:line:column: message` or `file:line:column: warning: message`. */
  readonly lines: readonly string[];
  readonly errors: readonly string[];
  readonly secrets: readonly string[];
}

const echo = `apiVersion: example.com/v1
kind: Agent
metadata: { name: echo }
spec: { runtime: { http: { url: "http://127.0.0.1:9/" } } }
`;

export class ResourceFolder {
  readonly path = newFolder('resources-');
  #count = 0;

  write(name: string, content: string | Uint8Array): string {
    const file = join(this.path, name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
    return file;
  }

  async load(options: Partial<LoadResourcesOptions> = {}): Promise<LoadedFolder> {
    const secrets = new SecretValues();
    const loaded = await loadResources({
      env: {},
      secrets,
      listen: { host: '127.0.0.1', port: 8080 },
      ...options,
    });
    const problems = loaded.problems.map(({ file, line, column, message, severity }) => {
      const name = file.startsWith(`${this.path}/`) ? file.slice(this.path.length + 1) : file;
      const text = message.replaceAll(`${this.path}/`, '');
      return {
        severity,
        text: `${name}:${line}:${column}: ${severity === 'warning' ? 'warning: ' : ''}${text}`,
      };
    });
    return {
      ...loaded,
      lines: problems.map(({ text }) => text),
      errors: problems.filter(({ severity }) => severity === 'error').map(({ text }) => text),
      secrets: secrets.list(),
    };
  }

  /** Loads a folder with the file `t.yaml` and an agent `echo`. */
  async loadText(text: string, options: Partial<LoadResourcesOptions> = {}): Promise<LoadedFolder> {
    this.#count += 1;
    const folder = `case-${this.#count}`;
    const file = this.write(`${folder}/t.yaml`, text);
    const agent = this.write(`${folder}/echo.yaml`, echo);
    const loaded = await this.load({ files: [file, agent], ...options });
    const bare = (lines: readonly string[]) => lines.map((line) => line.replaceAll(`${folder}/`, ''));
    return { ...loaded, lines: bare(loaded.lines), errors: bare(loaded.errors) };
  }

  /** Same as `loadText`, for a trigger with this type and these lines in `spec.config`. */
  async loadConfig(
    type: string,
    config: string,
    options: Partial<LoadResourcesOptions> = {},
  ): Promise<LoadedFolder & { readonly trigger: Trigger | undefined }> {
    const loaded = await this.loadText(triggerText(type, config), options);
    return { ...loaded, trigger: loaded.triggers[0] };
  }
}

/** Returns a trigger named `t`. Its `spec.config` is a flow mapping that begins at line 6, column 11. */
export function triggerText(type: string, config: string, more = '  default_agent: echo'): string {
  return `apiVersion: example.com/v1
kind: Trigger
metadata: { name: t }
spec:
  type: ${type}
  config: { ${config} }
${more}
`;
}
