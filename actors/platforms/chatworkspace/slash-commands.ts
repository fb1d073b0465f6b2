// Renders the slash commands of the triggers as a section of the app's manifest, which a person adds at the
// platform. A comment names the scope and the event that approvals by reaction need.

import type { ChatWorkspaceTrigger } from '../../../config/resources/triggers/trigger.ts';
import type { ManualMenu } from '../adapter.ts';

interface SlashCommand {
  readonly command: string;
  readonly description: string;
  readonly usage_hint?: string;
  readonly url?: string;
  readonly should_escape: boolean;
}

/** A comment, because scopes and events are in other sections of the manifest. */
const REACTION_HINT = [
  '# For approvals by reaction: the bot scope reactions:read and the bot event reaction_added.',
];

/** If several triggers have a command of the same name, the first one applies. */
export function slashCommands(triggers: readonly ChatWorkspaceTrigger[]): ManualMenu {
  const commands = new Map<string, SlashCommand>();
  for (const { commands: bindings, config } of triggers)
    for (const { command, description, parameters } of bindings) {
      if (commands.has(command)) continue;
      const hint = parameters.map(({ name, required }) => (required ? `<${name}>` : `[${name}]`)).join(' ');
      commands.set(command, {
        command: `/${command}`,
        description: description?.trim() || command,
        ...(hint !== '' && { usage_hint: hint }),
        // Commands over a socket have no URL.
        ...(config.mode === 'http' && { url: `https://GATEWAY${config.path}` }),
        should_escape: false,
      });
    }
  const lines = [...commands.values()].flatMap(linesOf);
  const text = ['features:', '  slash_commands:', ...lines, ...REACTION_HINT].join('\n');
  return { formName: 'the manifest of the app', text };
}

/** Returns YAML in which each value is JSON. */
function linesOf(command: SlashCommand): readonly string[] {
  return Object.entries(command).map(
    ([name, value], index) => `    ${index === 0 ? '- ' : '  '}${name}: ${JSON.stringify(value)}`,
  );
}
