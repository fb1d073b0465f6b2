import { describe, expect, test } from 'vitest';
import { isCredentialName } from '../../../../config/credentials/credential-names.ts';

describe('isCredentialName', () => {
  test.each([
    ...[
      'GITHUB_TOKEN',
      'OPENAI_API_KEY',
      'AWS_SECRET_ACCESS_KEY',
      'AWS_ACCESS_KEY_ID',
      'PGPASSWORD',
      'MYSQL_PWD',
    ],
    ...[
      'SENTRY_DSN',
      'DBPASS',
      'SSH_PASS',
      'GITHUB_PAT',
      'REDIS_AUTH',
      'SESSION_COOKIE',
      'NOTION_JWT',
      'KEY',
    ],
    ...[
      'API_KEY_2',
      'GITHUB_TOKEN_PROD',
      'webhook_secret_previous',
      'PRIVATE_KEY_BASE64',
      'CREDENTIALS_JSON',
    ],
    ...[
      'Authorization',
      'Proxy-Authorization',
      'Cookie',
      'X-Api-Key',
      'x-goog-api-key',
      'PRIVATE-TOKEN',
      'X-Auth',
    ],
    ...[
      'apiKey',
      'authToken',
      '_authToken',
      'clientSecret',
      'accesskey',
      '--api-key',
      'AccountKey',
      'OPENAI_APIKEY',
    ],
    ...['AZURE_CLIENT_SECRET', 'SMTP_PASSWORD', 'GPG_PASSPHRASE', 'API_TOKENS', 'SLACK_WEBHOOK_URL'],
  ])('returns true for %s', (name) => {
    expect(isCredentialName(name)).toBe(true);
  });

  test.each([
    ...[
      'AUTHOR',
      'GIT_AUTHOR_NAME',
      'TOKENIZERS_PARALLELISM',
      'MONKEY',
      'KEYBOARD_LAYOUT',
      'PASS_THROUGH',
      'COMPASS',
    ],
    ...[
      'MAX_TOKENS',
      'max_output_tokens',
      'TOKEN_LIMIT',
      'NODE_ENV',
      'GIT_BASE_DIR',
      'DATABASE_URL',
      'LOG_LEVEL',
    ],
    ...[
      'PASSWORD_FILE',
      'PRIVATE_KEY_PATH',
      'SSH_AUTH_SOCK',
      'AUTH_TYPE',
      'TOKEN_URL',
      'SECRET_NAME',
      'KEY_ID',
    ],
    ...['PUBLIC_KEY', 'PARTITION_KEY', 'JIRA_PROJECT_KEY', 'BYPASS', 'WHISKEY', 'AUTHORITY', 'XAUTHORITY'],
    ...['ALLOW_EMPTY_PASSWORD', '--no-auth', 'USE_TOKEN', 'X-Region', 'Accept', 'X', ''],
  ])('returns false for %s', (name) => {
    expect(isCredentialName(name)).toBe(false);
  });
});
