// Registers the commands of triggers in the menus of their platforms, per account; used by the CLI, also
// while the gateway is stopped. An account's triggers are registered together or not at all. A failure on one
// platform does not affect others. A rate-limited registration is repeated once, after a short pause.

import { setTimeout as pause } from 'node:timers/promises';
import type { Trigger } from '../../../config/resources/triggers/trigger.ts';
import { triggerTypes } from '../../../config/resources/triggers/trigger-types.ts';
import type { ConnectedAccount } from '../../events/outbox/connected-account.ts';
import { type Adapter, accountOf, type ManualMenu, type RegisterOptions } from '../../platforms/adapter.ts';

/** An account's triggers. */
interface AccountMenu extends ConnectedAccount {
  /** Trigger names. */
  readonly triggers: readonly string[];
}

export type MenuResult =
  /** Names of the registered commands. */
  | (AccountMenu & { readonly done: 'registered'; readonly commands: readonly string[] })
  /** The platform has no API for menus; the operator enters the commands in a form. */
  | (AccountMenu & { readonly done: 'by hand' } & ManualMenu)
  | (AccountMenu & { readonly done: 'refused'; readonly error: string });

export interface MenuAccounts {
  readonly accounts: readonly AccountTriggers[];
  /** Triggers whose platforms have no menus, or no menus per guild if a guild is selected. */
  readonly without: readonly string[];
  /** Triggers excluded from the menu by their files. */
  readonly keptOut: readonly string[];
}

interface AccountTriggers extends ConnectedAccount {
  readonly adapter: Adapter;
  readonly triggers: readonly Trigger[];
}

const CALL_MS = 30_000;
const LONGEST_PAUSE_MS = 60_000;

/**
 * Returns the accounts of the enabled triggers. `names` selects the accounts of these triggers, each with all
 * triggers. `guild` selects platforms with guilds and triggers for this guild.
 */
export function menuAccounts(
  triggers: readonly Trigger[],
  names: readonly string[],
  guild: string | undefined,
  adapterOf: (type: Trigger['type']) => Adapter,
): MenuAccounts {
  const accounts = new Map<string, AccountTriggers & { readonly triggers: Trigger[] }>();
  const without: string[] = [];
  const keptOut: string[] = [];
  const selectedKeys = new Set<string>();
  for (const trigger of triggers.filter(({ enabled }) => enabled)) {
    const adapter = adapterOf(trigger.type);
    const isNamed = names.length === 0 || names.includes(trigger.name);
    const hasMenu =
      guild !== undefined
        ? triggerTypes[trigger.type].menu?.hasGuilds === true
        : (adapter.register ?? adapter.manualMenu) !== undefined;
    if (!hasMenu) {
      if (isNamed) without.push(trigger.name);
      continue;
    }
    if (adapter.isInMenu?.(trigger, guild) === false) {
      if (isNamed) keptOut.push(trigger.name);
      continue;
    }
    const account = accountOf(adapter, trigger);
    const key = `${account.platform}/${account.account}`;
    const existing = accounts.get(key);
    if (existing === undefined) accounts.set(key, { ...account, adapter, triggers: [trigger] });
    else existing.triggers.push(trigger);
    if (isNamed) selectedKeys.add(key);
  }
  const selected = [...accounts].flatMap(([key, each]) => (selectedKeys.has(key) ? [each] : []));
  return { accounts: selected, without, keptOut };
}

/** Registers an account's menu, or returns the text for manual entry. Never rejects. */
export async function registerMenu(
  { adapter, triggers, platform, account }: AccountTriggers,
  guild: string | undefined,
  onPause: (ms: number) => void,
): Promise<MenuResult> {
  const menu = { platform, account, triggers: triggers.map(({ name }) => name) };
  const { register } = adapter;
  try {
    if (register === undefined) {
      const { formName = '', text = '' } = adapter.manualMenu?.(triggers) ?? {};
      return { ...menu, done: 'by hand', formName, text };
    }
    const attempt = () => callRegister((options) => register.call(adapter, triggers, options), guild);
    const commands = await attempt().catch(async (error: unknown) => {
      const pauseMs = pauseOf(error);
      if (pauseMs === undefined || pauseMs > LONGEST_PAUSE_MS) throw error;
      onPause(pauseMs);
      await pause(pauseMs);
      return attempt();
    });
    return { ...menu, done: 'registered', commands };
  } catch (error) {
    return { ...menu, done: 'refused', error: errorText(error) };
  }
}

async function callRegister(
  register: (options: RegisterOptions) => Promise<readonly string[]>,
  guild: string | undefined,
): Promise<readonly string[]> {
  const signal = AbortSignal.timeout(CALL_MS);
  try {
    return await register({ guild, signal });
  } catch (error) {
    if (signal.aborted) throw new Error(`the platform did not respond within ${CALL_MS / 1000} s`);
    throw error;
  }
}

/** Returns the pause requested by an error of the platform. */
function pauseOf(error: unknown): number | undefined {
  const { retryAfterMs } = (error ?? {}) as { readonly retryAfterMs?: unknown };
  return typeof retryAfterMs === 'number' && retryAfterMs >= 0 ? retryAfterMs : undefined;
}

/** Includes the requested pause, for the next attempt. */
function errorText(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  const pauseMs = pauseOf(error);
  return pauseMs === undefined ? message : `${message}; try again in ${Math.ceil(pauseMs / 1000)} s`;
}
