// Services shared by the listener for clients and the listener for other nodes: operator token,
// identification of senders, heartbeat, memory budget for bodies. Drained after both listeners are drained.

import type { Part } from '../../actors/base/supervision/part.ts';
import type { CallGuard } from '../../config/resources/call-guards.ts';
import { SlicedJson } from './api/sliced-json.ts';
import { BodyBudget } from './body/body-budget.ts';
import { ApiKey, Identification } from './identification.ts';
import { Heartbeat } from './mcp/heartbeat.ts';
import { operatorTokenOf } from './operator-token.ts';
import type { ServedGateway } from './route-context.ts';
import { internalErrorReporter } from './routes.ts';

export interface HttpServicesOptions {
  readonly gateway: ServedGateway;
  /** Returns the first guard of tool calls in the active files, if any. Undefined without automation. */
  readonly callGuard?: (() => CallGuard | undefined) | undefined;
}

export class HttpServices implements Part {
  readonly gateway: ServedGateway;
  readonly callGuard: HttpServicesOptions['callGuard'];
  /** Empty if an API key is set or the disk is full. */
  readonly operatorToken: string;
  readonly identification: Identification;
  /** Sends keepalive comments on idle streams. */
  readonly heartbeat = new Heartbeat();
  readonly json = new SlicedJson();
  /** Memory budget for bodies of unverified senders. */
  readonly unverifiedBodies: BodyBudget;
  readonly reportFault: (error: unknown) => void;

  /** Reads the operator token. Imports JWT verification only if configured. Rejects with StateFolderError. */
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
    // No operator token: `auth.jwt` requires an API key, which replaces the operator token.
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
    this.unverifiedBodies = BodyBudget.for(gateway.config.limits.body_bytes);
    this.reportFault = internalErrorReporter(gateway.log);
  }

  async drain(): Promise<void> {
    this.heartbeat.stop();
  }
}
