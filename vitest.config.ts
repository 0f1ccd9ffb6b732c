import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { ofSharedSystem, ownProcess } from './test/support/test-run/own-process.ts'

const timing = ['test/hostile/**/*.test.ts']

const shared = {
  pool: 'forks',
  testTimeout: 120_000,
  hookTimeout: 180_000,
  // Each error answer that a test gets is compared with the OpenAPI documents.
  setupFiles: ['test/support/test-run/check-answers.ts'],
} as const

/** Files that take minutes, mostly because they wait: for packages, brokers, time limits and retries. */
const longest = [
  'test/clients/clients.test.ts',
  'test/distributed/three-brokers.test.ts',
  'test/system/starts/postgres-hang.test.ts',
  'test/distributed/backup.test.ts',
]

/**
 * Runs the longest files first. Files that share a process come last and by project: a worker goes on only with a file of the
 * same project. They are short, so that no long file is left over for one worker.
 */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rankOf = ({ moduleId, project }: TestSpecification): number => {
      if (longest.some(path => moduleId.endsWith(`/${path}`))) return 0
      return ['suite', 'shared', 'unit'].indexOf(project.name) + 1
    }
    return (await super.sort(files)).toSorted((a, b) => rankOf(a) - rankOf(b))
  }
}

/** The projects run one after the other: the hostile tests measure waits, so no other test file may run beside them. */
// biome-ignore lint/style/noDefaultExport: the runner reads its configuration from the default export.
export default defineConfig({
  test: {
    // The root alone has the setup: it runs once for all projects.
    globalSetup: ['test/support/test-run/test-run.ts'],
    // Only the root may have a sequencer.
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        test: {
          ...shared,
          name: 'suite',
          include: ['test/*.test.ts', 'test/!(unit)/**/*.test.ts', ...ownProcess],
          exclude: [...timing, ...ofSharedSystem],
          // Tests wait for timers, disks and other processes a third of the time, so three use two cores.
          maxWorkers: 3,
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          ...shared,
          name: 'shared',
          include: ofSharedSystem,
          isolate: false,
          maxWorkers: 3,
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          ...shared,
          name: 'unit',
          include: ['test/unit/**/*.test.ts'],
          exclude: ownProcess,
          isolate: false,
          maxWorkers: 3,
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          ...shared,
          name: 'hostile',
          include: timing,
          maxWorkers: 1,
          fileParallelism: false,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
})
