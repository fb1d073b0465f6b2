// The slash commands of an app stand in its manifest, which a person keeps at the platform: what belongs there for the commands of
// the triggers, and what it needs besides so that marks decide about approvals.

import type { ChatWorkspaceTrigger } from '../../../config/resources/triggers/trigger.ts';
import type { MenuByHand } from '../adapter.ts';

interface SlashCommand {
  readonly command: string;
  readonly description: string;
  readonly usage_hint?: string;
  readonly url?: string;
  readonly should_escape: boolean;
}

/** Beside the scopes and events that stand there. */
const FOR_MARKS = [
  '# Where marks on messages are to decide about approvals: the bot scope reactions:read, and the bot event reaction_added.',
];

/** Of two of one name the first. */
export function slashCommands(triggers: readonly ChatWorkspaceTrigger[]): MenuByHand {
  const commands = new Map<string, SlashCommand>();
  for (const { commands: bindings, config } of triggers)
    for (const { command, description, parameters } of bindings) {
      if (commands.has(command)) continue;
      const hint = parameters.map(({ name, required }) => (required ? `<${name}>` : `[${name}]`)).join(' ');
      commands.set(command, {
        command: `/${command}`,
        description: description?.trim() || command,
        ...(hint !== '' && { usage_hint: hint }),
        // Over a socket they come without an address.
        ...(config.mode === 'http' && { url: `https://GATEWAY${config.path}` }),
        should_escape: false,
      });
    }
  const lines = [...commands.values()].flatMap(linesOf);
  const text = ['features:', '  slash_commands:', ...lines, ...FOR_MARKS].join('\n');
  return { where: 'the manifest of the app', text };
}

/** YAML, of which each value is JSON as well. */
function linesOf(command: SlashCommand): readonly string[] {
  return Object.entries(command).map(
    ([name, value], index) => `    ${index === 0 ? '- ' : '  '}${name}: ${JSON.stringify(value)}`,
  );
}
