// Services shared by the listeners for clients and nodes: the operator token, the identification of senders, and body budgets. A part
// of the gateway, drained after both listeners.

import type { Part } from '../../actors/base/supervision/part.ts';
import type { CallGuard } from '../../config/resources/call-guards.ts';
import { BodyBudget } from './body/body-budget.ts';
import { ApiKey, Identification } from './identification.ts';
import { Heartbeat } from './mcp/heartbeat.ts';
import { operatorTokenOf } from './operator-token.ts';
import type { ServedGateway } from './route-context.ts';
import { faultReporter } from './routes.ts';

export interface HttpServicesOptions {
  readonly gateway: ServedGateway;
  /** Returns the first guard in the files in use, if any; undefined without automation. */
  readonly callGuard?: (() => CallGuard | undefined) | undefined;
}

export class HttpServices implements Part {
  readonly gateway: ServedGateway;
  readonly callGuard: HttpServicesOptions['callGuard'];
  /** '' with an API key, or if the disk is full. */
  readonly operatorToken: string;
  readonly identification: Identification;
  /** Keeps streams alive. */
  readonly heartbeat = new Heartbeat();
  /** Budget for bodies of senders that are not identified yet. */
  readonly unproven: BodyBudget;
  readonly reportFault: (error: unknown) => void;

  /** Reads the operator token. The code that verifies tokens is loaded only where some are accepted. Throws StateFolderError. */
  static async open(options: HttpServicesOptions): Promise<HttpServices> {
    const { api_key, auth } = options.gateway.config;
    const operatorToken = operatorTokenOf(options.gateway);
    const key = new ApiKey(api_key);
    if (auth.jwt === undefined)
      return new HttpServices(
        options,
        operatorToken,
        new Identification(key, undefined, new ApiKey(operatorToken)),
      );
    const { makeJwtVerifier } = await import('../../actors/identity/jwt/make-jwt-verifier.ts');
    return new HttpServices(options, operatorToken, new Identification(key, makeJwtVerifier(auth.jwt)));
  }

  private constructor(
    { gateway, callGuard }: HttpServicesOptions,
    operatorToken: string,
    identification: Identification,
  ) {
    this.gateway = gateway;
    this.callGuard = callGuard;
    this.operatorToken = operatorToken;
    this.identification = identification;
    this.unproven = BodyBudget.for(gateway.config.limits.body_bytes);
    this.reportFault = faultReporter(gateway.log);
  }

  async drain(): Promise<void> {
    this.heartbeat.stop();
  }
}
