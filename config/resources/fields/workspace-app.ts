// Which app of a workspace chat a trigger is for: its connection, its order and its limits are shared by all triggers of that app.
// The tokens of one app in two workspaces are different; its app-level token and its signing secret are not.

import { createHash } from 'node:crypto';
import type { ReadOfType } from '../triggers/trigger-type.ts';
import { warnOfTwoCredentials } from './one-credential.ts';

/** What says which app it is. */
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

/** The id that stands in an app-level token. */
export function appInToken(token: string | undefined): string | undefined {
  return APP_TOKEN.exec(token ?? '')?.[1];
}

/** The app's id; where nobody says it a short name that tells it from others, and says nothing of its secret. */
export function appOf({ app_token, app_id, signing_secret }: AppCredentials): string {
  const id = appInToken(app_token) ?? app_id;
  if (id !== undefined) return id;
  return createHash('sha256')
    .update(app_token ?? signing_secret ?? '')
    .digest('hex')
    .slice(0, 16);
}

/** Reports an app in two modes, and warns of credentials of one app of which only one can be right. */
export function checkApps<Config extends AppConfig>(all: readonly ReadOfType<Config>[]): void {
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

/** The platform sends what an app is told in one way. */
function checkModes<Config extends AppConfig>(all: readonly ReadOfType<Config>[]): void {
  const first = new Map<string, ReadOfType<Config>['trigger']>();
  for (const { reader, trigger } of all) {
    if (!trigger.enabled) continue;
    const app = appOf(trigger.config);
    const earlier = first.get(app) ?? trigger;
    first.set(app, earlier);
    if (earlier.config.mode === trigger.config.mode) continue;
    const path = 'spec.config.mode';
    reader.report(
      reader.has(path) ? path : 'spec.config',
      `trigger ${earlier.name} is for the same app with mode ${earlier.config.mode}; events of an app come in one way only`,
    );
  }
}
