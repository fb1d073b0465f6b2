// Logs a warning when the nodes of the cluster differ in their configuration or version, and a message when
// they no longer differ.

import type { Log } from '../base/errors/log.ts';
import { comparedFields, differencesOf, type NodeStatus } from './node-list.ts';

const differMessages = {
  config_hash: 'the nodes differ in their configuration',
  version: 'the nodes differ in their version',
};
const agreeMessages = {
  config_hash: 'the nodes have the same configuration again',
  version: 'the nodes have the same version again',
};

export class NodeDifferences {
  readonly #log: Log;
  readonly #differing = new Set<string>();

  constructor(log: Log) {
    this.#log = log;
  }

  update(nodes: readonly NodeStatus[]): void {
    const differing = differencesOf(nodes);
    for (const difference of comparedFields) {
      const [field] = difference;
      const isDiffering = differing.includes(difference);
      if (isDiffering === this.#differing.has(field)) continue;
      if (isDiffering) {
        this.#differing.add(field);
        this.#log.warn(
          { nodes: Object.fromEntries(nodes.map((node) => [node.name, node[field]])) },
          differMessages[field],
        );
      } else {
        this.#differing.delete(field);
        this.#log.info({ nodes: nodes.length }, agreeMessages[field]);
      }
    }
  }
}
