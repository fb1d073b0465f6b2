import { describe, expect, test } from 'vitest';
import { cronFault } from '../../../../../config/resources/fields/cron.ts';

describe('a cron expression', () => {
  test.each([
    '* * * * *',
    '*/5 * * * *',
    '0 0 1 1 0',
    '59 23 31 12 6',
    '0-30/10,45 8-18 * * mon-FRI',
    '30 2 * JAN,mar-Jun 1,3,5',
    '15 30 4 * * *',
    '  0   4 * *   1 ',
    '0 0 29 2 *',
    '0 0 31 2,4,12 *',
    // Either day matches.
    '0 0 31 2 1',
    '0 9 * * 7',
    '0 9 * * 1-7',
    '0 9 * * 5-7/2',
    '0 9 * * fri-SUN',
    '0 0 L * *',
    '0 0 l 2 *',
    '0 0 15,L * *',
    '0 0 * * 5L',
    '0 0 * * friL,7L',
    '@daily',
    ' @Hourly ',
    '@midnight',
    '@weekly',
    '@monthly',
    '@yearly',
    '@annually',
  ])('may be %j', (expression) => {
    expect(cronFault(expression)).toBeUndefined();
  });

  const form = 'is not one of *, 5, 1-5, */5, 1-5/2 or a list of these';
  const count =
    'expected 5 fields (minute, hour, day of month, month, day of week), or 6 with seconds first; found';
  test.each([
    ['', `${count} 0`],
    ['* * * *', `${count} 4`],
    ['5m', `${count} 1; write */5 * * * * for each interval of 5m`],
    ['every 2 hours', `${count} 3; write 0 */2 * * * for each interval of 2 hours`],
    ['7m', `${count} 1`],
    ['90m', `${count} 1`],
    ['0h', `${count} 1`],
    ['* * * * * * *', `${count} 7`],
    ['@reboot', '@reboot is not one of @yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly'],
    ['@daily *', '@daily * is not one of @yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly'],
    ['60 * * * *', 'minute: 60 is outside 0-59'],
    ['60 * * * * *', 'second: 60 is outside 0-59'],
    ['* 24 * * *', 'hour: 24 is outside 0-23'],
    ['* * 0 * *', 'day of month: 0 is outside 1-31'],
    ['* * * 13 *', 'month: 13 is outside 1-12'],
    ['* * * * 8', 'day of week: 8 is outside 0-7'],
    ['* * * * 8L', 'day of week: 8 is outside 0-7'],
    ['* * * * 7-1', 'day of week: the range 7-1 runs backwards'],
    ['* * * * fri-0', 'day of week: the range fri-0 runs backwards'],
    ['* * * foo *', 'month: foo is not one of jan, feb, mar, apr, may, jun, jul, aug, sep, oct, nov, dec'],
    ['mon * * * *', 'minute: mon is not a number'],
    ['5-1 * * * *', 'minute: the range 5-1 runs backwards'],
    ['*/0 * * * *', 'minute: a step of 0 is outside 1-59'],
    ['*/99 * * * *', 'minute: a step of 99 is outside 1-59'],
    ['5/10 * * * *', 'minute: write 5-59/10 instead of 5/10'],
    ['1,,2 * * * *', `minute: "" ${form}`],
    ['-1 * * * *', `minute: "-1" ${form}`],
    ['1.5 * * * *', `minute: "1.5" ${form}`],
    ['L * * * *', 'minute: L is not a number'],
    ['* * 5L * *', `day of month: "5L" ${form}`],
    ['* * * * L', 'day of week: L is not one of sun, mon, tue, wed, thu, fri, sat'],
    ['* * ? * *', `day of month: "?" ${form}`],
    ['* * * * 1#2', `day of week: "1#2" ${form}`],
    ['0 0 30 2 *', 'never occurs: none of its months has such a day'],
    ['0 0 31 2,4,6,9,11 *', 'never occurs: none of its months has such a day'],
  ])('cannot be %j', (expression, fault) => {
    expect(cronFault(expression)).toBe(fault);
  });
});
