import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { relative } from 'node:path'
import type { TestModule } from 'vitest/node'

/** Seconds of each test file, with its imports and hooks. */
export type FileTimes = Readonly<Record<string, number>>

const shownFiles = 20

const storedFile = 'test/file-times.json'

const folderOf = (path: string): string => path.split('/', 2).join('/')

const sumOf = (times: FileTimes): number => Object.values(times).reduce((sum, seconds) => sum + seconds, 0)

const secondsText = (seconds: number): string => `${seconds.toFixed(1).padStart(8)} s`

/**
 * Write the times of a run next to the stored times: the sum, each folder, and the slowest files. A time is shown without
 * a stored time if its file is new.
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
  return [
    `Time of the test files (now, and in ${storedFile})`,
    line('all files', sumOf(times), sumOf(kept)),
    ...folders.toSorted((a, b) => b.now - a.now).map(({ name, now, before }) => line(name, now, before)),
    ...slowest.map(([path, seconds]) => line(path, seconds, kept[path])),
    '',
  ].join('\n')
}

/** Read the stored times; none if the file does not exist. */
const readStored = (): FileTimes => (existsSync(storedFile) ? JSON.parse(readFileSync(storedFile, 'utf8')) : {})

/**
 * Prints the time of each test file next to the stored one at the end of a run. With `KEEP_FILE_TIMES=1` it also writes
 * the times of this run to that file.
 */
// biome-ignore lint/style/noDefaultExport: the runner loads its reporters from the default export.
export default class FileTimesReporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const times = Object.fromEntries(
      modules
        .map(module => {
          const { collectDuration, setupDuration, duration } = module.diagnostic()
          const seconds = (collectDuration + setupDuration + duration) / 1000
          return [relative(process.cwd(), module.moduleId), Math.round(seconds * 10) / 10] as const
        })
        .toSorted(([a], [b]) => (a < b ? -1 : 1)),
    )
    process.stdout.write(`\n${timesReport(times, readStored())}`)
    if (process.env['KEEP_FILE_TIMES'] === '1') writeFileSync(storedFile, `${JSON.stringify(times, null, 2)}\n`)
  }
}
