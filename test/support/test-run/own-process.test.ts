import { globSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { ownProcess } from './own-process.ts'

const openers =
  'openTestDatabase|openChdb|useMeterTables|openLmdbLog|useSystem|useSharedSystem|startSystem|vi.resetModules'
const opensStore = (text: string): boolean => new RegExp(`\\b(?:${openers})\\(`).test(text)

describe('unit tests that share a process', () => {
  const own = new Set(globSync(ownProcess))

  it('open no store', () => {
    const sharing = globSync('test/unit/**/*.test.ts').filter(path => !own.has(path))
    expect(sharing.length).toBeGreaterThan(200)
    expect(sharing.filter(path => opensStore(readFileSync(path, 'utf8')))).toEqual([])
  })

  it('are found if they open one', () => {
    expect([...own].filter(path => opensStore(readFileSync(path, 'utf8'))).length).toBeGreaterThan(30)
    expect(opensStore('const opened = await openTestDatabase()')).toBe(true)
    expect(opensStore("import { openTestDatabase } from './postgres.ts'")).toBe(false)
  })
})
