import { defineConfig } from 'vitest/config'

const timing = ['test/hostile/**/*.test.ts']
const shared = { pool: 'forks', testTimeout: 120_000, hookTimeout: 180_000 } as const

/** The projects run one after the other: the hostile tests measure waits, so no other test file may run beside them. */
// biome-ignore lint/style/noDefaultExport: the runner reads its configuration from the default export.
export default defineConfig({
  test: {
    // The root alone has the setup: it runs once for all projects.
    globalSetup: ['test/support/test-run/test-run.ts'],
    projects: [
      {
        test: {
          ...shared,
          name: 'suite',
          include: ['test/**/*.test.ts'],
          exclude: timing,
          maxWorkers: 2,
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
