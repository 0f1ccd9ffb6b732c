import { execFileSync } from 'node:child_process'
import { expect, it } from 'vitest'
import { cpuSeconds, newCpuSeconds } from './cpu-seconds.ts'
import { lowerTimes, risenFiles, timesReport } from './file-times.ts'

it('shows the sum, the folders and the slowest files, each beside its kept time', () => {
  const times = { 'test/unit/a.test.ts': 1, 'test/unit/new.test.ts': 2.25, 'test/system/b.test.ts': 30 }
  const kept = { 'test/unit/a.test.ts': 1.5, 'test/system/b.test.ts': 18 }
  expect(
    timesReport(times, kept)
      .split('\n')
      .map(line => line.trim().replaceAll(/ +/g, ' ')),
  ).toEqual([
    'CPU time of the test files (now, and in test/file-times.json)',
    '33.3 s 19.5 s all files',
    '30.0 s 18.0 s test/system',
    '3.3 s 1.5 s test/unit',
    '30.0 s 18.0 s test/system/b.test.ts',
    '2.3 s test/unit/new.test.ts',
    '1.0 s 1.5 s test/unit/a.test.ts',
    'These files use more CPU time than stored:',
    'test/system/b.test.ts',
    '',
  ])
})

it('reports a file above 1.5 times its stored time and 2 s, and no new file', () => {
  expect(risenFiles({ a: 17.1, b: 17, c: 2.1, new: 50 }, { a: 10, b: 10, c: 0.1 })).toEqual(['a'])
})

it('stores a time that is lower or new, and no file that is gone', () => {
  expect(lowerTimes({ a: 3, b: 5, new: 1 }, { a: 4, b: 4, gone: 9 })).toEqual({ a: 3, b: 4, new: 1 })
})

it('measures this process and the processes that it ended', () => {
  const begin = cpuSeconds()
  const program =
    'const used = () => { const { user, system } = process.cpuUsage(); return user + system }; while (used() < 400_000);'
  execFileSync(process.execPath, ['-e', program])
  expect(cpuSeconds() - begin).toBeGreaterThan(0.35)
  expect(cpuSeconds() - begin).toBeLessThan(5)
})

it('counts the time since the last file of a worker', () => {
  newCpuSeconds()
  const { user, system } = process.cpuUsage()
  expect(newCpuSeconds()).toBeLessThan((user + system) / 1e6 / 2)
})

it('shows at most twenty files', () => {
  const times = Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`test/unit/${index}.test.ts`, index]))
  expect(timesReport(times, {}).match(/\.test\.ts/g)).toHaveLength(20)
})
