// The gateway's account at a platform: a bot, a number, a host. Its triggers share one connection, one outbox and its rate limits.

export interface ConnectedAccount {
  /** Name of the platform in keys, such as `botmessenger`. */
  readonly platform: string;
  readonly account: string;
}
