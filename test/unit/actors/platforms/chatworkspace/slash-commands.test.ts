import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { slashCommands } from '../../../../../actors/platforms/chatworkspace/slash-commands.ts';
import { agentTarget } from '../../../../../config/resources/triggers/target.ts';
import { chatWorkspaceTrigger } from '../../../../fixtures/automation/triggers.ts';

const env = { name: 'env', required: true, description: undefined, default: undefined };
const whenParameter = { ...env, name: 'when', required: false };
const binding = (command: string, description: string | undefined, parameters = [env]) => ({
  command,
  target: agentTarget('a'),
  description,
  parameters,
});

test('slash commands of the manifest are unique, and have a URL only for HTTP mode', () => {
  const socket = {
    ...chatWorkspaceTrigger('one', { mode: 'socket', app_token: 'xapp-1-A1-1-x' }),
    commands: [binding('deploy', 'Ship it', [env, whenParameter]), binding('status', undefined, [])],
  };
  const http = {
    ...chatWorkspaceTrigger('two'),
    commands: [binding('deploy', 'Other'), binding('page', ' ')],
  };
  const { formName, text } = slashCommands([socket, http]);
  expect(formName).toBe('the manifest of the app');
  expect(text).toMatch(/^# .*reactions:read.*reaction_added/m);
  expect(parse(text)).toEqual({
    features: {
      slash_commands: [
        { command: '/deploy', description: 'Ship it', usage_hint: '<env> [when]', should_escape: false },
        { command: '/status', description: 'status', should_escape: false },
        {
          command: '/page',
          description: 'page',
          usage_hint: '<env>',
          url: 'https://GATEWAY/webhook/chatworkspace',
          should_escape: false,
        },
      ],
    },
  });
});
