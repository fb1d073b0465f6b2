// Account that the gateway uses at a platform: a bot, a phone number, or a host. All triggers of an account
// share a connection, an outbox and rate limits.

export interface ConnectedAccount {
  /** Name of the platform in keys, such as `botmessenger`. */
  readonly platform: string;
  /** See `Adapter.account`. */
  readonly account: string;
}
