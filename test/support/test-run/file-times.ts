import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { relative } from 'node:path'
import type { TestModule } from 'vitest/node'
import type {} from './cpu-seconds.ts'

/** CPU seconds of each test file, with its imports, its hooks and the processes that it started and ended. */
export type FileTimes = Readonly<Record<string, number>>

const shownFiles = 20

const storedFile = 'test/file-times.json'

/** Rise that other processes cannot cause: a file is reported above 1.5 times its stored time, and 2 s more. */
const [riseFactor, riseSeconds] = [1.5, 2] as const

/** Return the files that use more CPU time than stored, by more than the margin. New files have no stored time. */
export const risenFiles = (times: FileTimes, kept: FileTimes): readonly string[] =>
  Object.keys(times).filter(path => {
    const before = kept[path]
    return before !== undefined && (times[path] ?? 0) > before * riseFactor + riseSeconds
  })

/** Return the times to store: each file has the lower of both times. Files that no longer exist are left out. */
export const lowerTimes = (times: FileTimes, kept: FileTimes): FileTimes =>
  Object.fromEntries(Object.entries(times).map(([path, now]) => [path, Math.min(now, kept[path] ?? now)]))

const folderOf = (path: string): string => path.split('/', 2).join('/')

const sumOf = (times: FileTimes): number => Object.values(times).reduce((sum, seconds) => sum + seconds, 0)

const secondsText = (seconds: number): string => `${seconds.toFixed(1).padStart(8)} s`

/**
 * Write the times of a run next to the stored times: the sum, each folder, and the slowest files. Then come the
 * files whose time rose. A time is shown without a stored time if its file is new.
 */
export const timesReport = (times: FileTimes, kept: FileTimes): string => {
  const line = (name: string, seconds: number, before: number | undefined): string =>
    `${secondsText(seconds)} ${before === undefined ? ' '.repeat(10) : secondsText(before)}  ${name}`
  const folders = [...Map.groupBy(Object.keys(times), folderOf)].map(([folder, paths]) => {
    const sum = (source: FileTimes): number => paths.reduce((total, path) => total + (source[path] ?? 0), 0)
    return { name: folder, now: sum(times), before: sum(kept) }
  })
  const slowest = Object.entries(times)
    .toSorted(([, a], [, b]) => b - a)
    .slice(0, shownFiles)
  const risen = risenFiles(times, kept)
  return [
    `CPU time of the test files (now, and in ${storedFile})`,
    line('all files', sumOf(times), sumOf(kept)),
    ...folders.toSorted((a, b) => b.now - a.now).map(({ name, now, before }) => line(name, now, before)),
    ...slowest.map(([path, seconds]) => line(path, seconds, kept[path])),
    ...(risen.length === 0 ? [] : ['These files use more CPU time than stored:', ...risen.map(path => `  ${path}`)]),
    '',
  ].join('\n')
}

/** Read the stored times; none if the file does not exist. */
const readStored = (): FileTimes => (existsSync(storedFile) ? JSON.parse(readFileSync(storedFile, 'utf8')) : {})

/**
 * Prints the CPU time of each test file next to the stored one at the end of a run. With `KEEP_FILE_TIMES=1` it also stores
 * the times that are lower than the stored ones.
 */
// biome-ignore lint/style/noDefaultExport: the runner loads its reporters from the default export.
export default class FileTimesReporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const times = Object.fromEntries(
      modules
        .map(module => {
          const seconds = module.meta().cpuSeconds ?? 0
          return [relative(process.cwd(), module.moduleId), Math.round(seconds * 10) / 10] as const
        })
        .toSorted(([a], [b]) => (a < b ? -1 : 1)),
    )
    const kept = readStored()
    process.stdout.write(`\n${timesReport(times, kept)}`)
    if (process.env['KEEP_FILE_TIMES'] !== '1') return
    writeFileSync(storedFile, `${JSON.stringify(lowerTimes(times, kept), null, 2)}\n`)
  }
}
