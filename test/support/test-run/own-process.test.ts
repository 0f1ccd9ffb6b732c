import { globSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { ofSharedSystem, opensEngine, ownProcess, usesOnlySharedSystem } from './own-process.ts'

describe('unit tests with a process of their own', () => {
  it('are those that open an engine themselves or with an imported file', () => {
    expect(ownProcess).toContain('test/unit/platform/log/lmdb/lmdb-log.test.ts')
    // `test/support/metering/gateway.ts` opens the log.
    expect(ownProcess).toContain('test/unit/ingest-gateway/submissions.test.ts')
    expect(ownProcess).toContain('test/unit/platform/clock.test.ts')
    expect(ownProcess).not.toContain('test/unit/platform/postgres/page.test.ts')
    expect(globSync('test/unit/**/*.test.ts').length - ownProcess.length).toBeGreaterThan(250)
  })

  it('are found by the call', () => {
    expect(opensEngine('const opened = openChdb({ folder })')).toBe(true)
    expect(opensEngine("import { openChdb } from './chdb.ts'")).toBe(false)
  })
})

describe('files of a shared system', () => {
  it('are those that start no system and open no engine', () => {
    expect(ofSharedSystem.length).toBeGreaterThan(100)
    expect(ofSharedSystem).toContain('test/system/costs/costs.test.ts')
    expect(ofSharedSystem).not.toContain('test/deploy/energy-dashboards.test.ts')
    expect(usesOnlySharedSystem('const { login } = useSharedSystem()')).toBe(true)
    expect(usesOnlySharedSystem('const { login } = useSharedSystem()\nconst own = useSystem()')).toBe(false)
    expect(usesOnlySharedSystem("import { useSharedSystem } from './use-system.ts'")).toBe(false)
  })
})
