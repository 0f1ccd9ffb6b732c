import { defineConfig } from 'vitest/config'

// biome-ignore lint/style/noDefaultExport: the runner reads its configuration from the default export.
export default defineConfig({
  test: {
    include: ['test/support/test-run/interrupted/endless.ts'],
    globalSetup: ['test/support/test-run/test-run.ts'],
    pool: 'forks',
    testTimeout: 600_000,
  },
})
