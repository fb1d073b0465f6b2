// What a command that asks a running gateway consists of. A name may have two words, a thing and what to do with it.

import type { Command } from 'commander';
import type { Paint } from '../../terminal/paint.ts';
import type { ApiClient, ApiProblem, ApiResponse } from '../api/api-client.ts';
import type { UsageError } from '../api/target-options.ts';

export interface Situation {
  readonly client: ApiClient;
  /** The arguments after the name. */
  readonly args: readonly string[];
  /** The command's own options, by their names in camel case. */
  readonly options: Readonly<Record<string, unknown>>;
  readonly timeoutMs: number;
  readonly paint: Paint;
  /** Characters in a line of the terminal; undefined elsewhere. */
  readonly width: number | undefined;
}

export interface Operation {
  readonly description: string;
  /** As commander writes them, each with its meaning: `['<id>', 'id of a server']`. */
  readonly args: readonly (readonly [syntax: string, meaning: string])[];
  /** Command lines for the help, without the program's name. */
  readonly examples?: readonly string[];
  /** With -f it asks a gateway of its own (chat/with-gateway.ts). */
  readonly isWithOwnGateway?: boolean;
  /** Said in the help besides, after the examples. */
  readonly help?: string;
  /** How long it waits for an answer without --timeout. */
  readonly timeoutSeconds: number;
  /** Options of its own. */
  declare?(command: Command): void;
  /** The request whose answer `--json` prints. */
  ask(situation: Situation): Promise<ApiResponse>;
  show(answer: ApiResponse, situation: Situation): Promise<readonly string[]> | readonly string[];
  /** The exit code where the answer is not simply good. */
  exitCode?(answer: ApiResponse): number;
  /** A better explanation of a refusal, or the same. UsageError: what was asked for cannot be. */
  explain?(problem: ApiProblem, situation: Situation): Promise<ApiProblem | UsageError>;
}
