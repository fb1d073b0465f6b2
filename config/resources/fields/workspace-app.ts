// Identifies the app (registered bot) of ChatWorkspace triggers. An app's triggers share one connection, one
// order of outbound messages and the rate limits. An app has a bot token per workspace, but a single
// app-level token and signing secret.

import { createHash } from 'node:crypto';
import type { TriggerWithReader } from '../triggers/trigger-type.ts';
import { warnOfTwoCredentials } from './one-credential.ts';

/** Fields that identify an app. */
export interface AppCredentials {
  readonly app_token: string | undefined;
  readonly app_id: string | undefined;
  readonly signing_secret: string | undefined;
}

interface AppConfig extends AppCredentials {
  readonly bot_token: string;
  readonly mode: string;
  readonly api_root: string;
}

const APP_TOKEN = /^xapp-\d+-([A-Z0-9]+)-/;
const BOT_TOKEN = /^xoxb-(\d+)-/;

/** Returns the app id that an app-level token contains. */
export function appInToken(token: string | undefined): string | undefined {
  return APP_TOKEN.exec(token ?? '')?.[1];
}

/** Returns the app id. If it is unknown, returns a hash of the secret, which identifies the app as well. */
export function appOf({ app_token, app_id, signing_secret }: AppCredentials): string {
  const id = appInToken(app_token) ?? app_id;
  if (id !== undefined) return id;
  return createHash('sha256')
    .update(app_token ?? signing_secret ?? '')
    .digest('hex')
    .slice(0, 16);
}

/** Reports an app in two modes, and warns of different credentials for the same app. */
export function checkApps<Config extends AppConfig>(all: readonly TriggerWithReader<Config>[]): void {
  checkModes(all);
  const connected = all.filter(({ trigger: { config } }) => config.app_token !== undefined);
  warnOfTwoCredentials(connected, 'app_token', appOf);
  const signed = all.filter(({ trigger: { config } }) => config.signing_secret !== undefined);
  warnOfTwoCredentials(signed, 'signing_secret', appOf);
  warnOfTwoCredentials(all, 'bot_token', (config) => {
    const workspace = BOT_TOKEN.exec(config.bot_token)?.[1] ?? config.bot_token;
    return JSON.stringify([appOf(config), workspace, config.api_root]);
  });
}

/** Reports an app in two modes: the platform sends events to an app either by socket or by http. */
function checkModes<Config extends AppConfig>(all: readonly TriggerWithReader<Config>[]): void {
  /** First trigger of each app. */
  const first = new Map<string, TriggerWithReader<Config>['trigger']>();
  for (const { reader, trigger } of all) {
    if (!trigger.enabled) continue;
    const app = appOf(trigger.config);
    const earlier = first.get(app) ?? trigger;
    first.set(app, earlier);
    if (earlier.config.mode === trigger.config.mode) continue;
    const path = 'spec.config.mode';
    reader.report(
      reader.has(path) ? path : 'spec.config',
      `trigger ${earlier.name} uses the same app with mode ${earlier.config.mode}; an app receives its events in a single way`,
    );
  }
}
