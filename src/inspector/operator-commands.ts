// What an operator may do from the page: start and stop servers, pause and resume triggers, reload, and what runs, deliveries and
// approvals allow. With inspector.commands only.

import type { Gateway } from '../../actors/gateway/gateway.ts';
import type { Principal } from '../../actors/identity/principal.ts';
import { ConfigError, formatProblem } from '../../config/reader/problem.ts';
import type { ExchangeContext } from '../http/mcp/exchange-context.ts';
import type { TriggersFront } from '../http/triggers-front.ts';
import { securityHeaders } from './answer-headers.ts';
import { numbersOf } from './feed/server-numbers.ts';
import { triggerNumbers } from './feed/trigger-numbers.ts';
import type { RunRoutes } from './runs/run-routes.ts';

interface OperatorCommandsOptions {
  readonly gateway: Gateway;
  readonly runs: RunRoutes;
  /** Where there are triggers. */
  readonly automation: TriggersFront['automation'] | undefined;
  /** Reads the catalog again and applies it; throws ConfigError. */
  reload(): Promise<unknown>;
}

export class OperatorCommands {
  readonly #gateway: Gateway;
  readonly #runs: RunRoutes;
  readonly #automation: TriggersFront['automation'] | undefined;
  readonly #reload: () => Promise<unknown>;

  constructor({ gateway, runs, automation, reload }: OperatorCommandsOptions) {
    this.#gateway = gateway;
    this.#runs = runs;
    this.#automation = automation;
    this.#reload = reload;
  }

  /** Does what the words of a path ask for, when the configuration lets it, and answers. */
  async run(context: ExchangeContext, words: readonly string[], body: Buffer): Promise<void> {
    const { config, redactor, isDraining } = this.#gateway;
    try {
      const act = await this.#action(words, body, context.principal);
      if (!config.inspector.commands)
        context.error(403, 'set inspector.commands: true in the gateway file to act from here');
      else if (isDraining) context.refuseWhileDraining();
      else if (act === undefined)
        context.error(
          404,
          'there is no such server, trigger, run, delivery or approval, or nothing like that to be done with it',
        );
      else context.json(200, await act(), securityHeaders);
    } catch (error) {
      const problems = error instanceof ConfigError ? error.problems.map(formatProblem) : [];
      if (problems.length > 0)
        context.error(422, 'the configuration has errors and nothing was changed', [], {
          problems: problems.map((problem) => redactor.redact(problem)),
        });
      else context.fail(error, (text) => redactor.redact(text));
    }
  }

  /** What the words of a path ask for; what it gives is the answer. Undefined when there is no such thing. */
  async #action(
    words: readonly string[],
    body: Buffer,
    principal: Principal,
  ): Promise<(() => Promise<unknown>) | undefined> {
    const [head = '', name = '', verb] = words;
    if (head === 'reload') return this.#reload;
    if (this.#runs.has(head)) return this.#runs.action(words, body, principal);
    if (head === 'servers') {
      const server = this.#gateway.servers.get(name);
      if (server === undefined || (verb !== 'start' && verb !== 'stop')) return undefined;
      return async () => {
        await server[verb]();
        return numbersOf(server, this.#gateway.redactor);
      };
    }
    const trigger = head === 'triggers' ? this.#automation?.triggers.get(name) : undefined;
    if (trigger === undefined || (verb !== 'pause' && verb !== 'resume')) return undefined;
    return async () => {
      const status = await this.#automation?.operator[verb](trigger.name);
      return status && triggerNumbers(status, this.#gateway.redactor);
    };
  }
}
