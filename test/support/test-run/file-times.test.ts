import { expect, it } from 'vitest'
import { timesReport } from './file-times.ts'

it('shows the sum, the folders and the slowest files, each beside its kept time', () => {
  const times = { 'test/unit/a.test.ts': 1, 'test/unit/new.test.ts': 2.25, 'test/system/b.test.ts': 30 }
  const kept = { 'test/unit/a.test.ts': 1.5, 'test/system/b.test.ts': 20 }
  expect(
    timesReport(times, kept)
      .split('\n')
      .map(line => line.trim().replaceAll(/ +/g, ' ')),
  ).toEqual([
    'Time of the test files (now, and in test/file-times.json)',
    '33.3 s 21.5 s all files',
    '30.0 s 20.0 s test/system',
    '3.3 s 1.5 s test/unit',
    '30.0 s 20.0 s test/system/b.test.ts',
    '2.3 s test/unit/new.test.ts',
    '1.0 s 1.5 s test/unit/a.test.ts',
    '',
  ])
})

it('shows at most twenty files', () => {
  const times = Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`test/unit/${index}.test.ts`, index]))
  expect(timesReport(times, {}).match(/\.test\.ts/g)).toHaveLength(20)
})
