import { globSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { tagDescriptions } from '../../../../services/contract/openapi/openapi.ts'
import { operations } from '../../../../services/operations.ts'

/** The documents do not contain the operations of the operator. */
const files = globSync(['services/contract/**/*.ts', 'services/*/contract/**/*.ts']).filter(
  path => !/\/operation\.ts$|\/operator\//.test(path),
)

describe('the list of operations', () => {
  it('has every operation that the contract declares', async () => {
    const declared = files.flatMap(path => {
      const uses = readFileSync(path, 'utf8').matchAll(/export const (\w+) = defineOperation\(/g)
      return [...uses].map(([, name = '']) => ({ path, name }))
    })
    const calls = files.flatMap(path => readFileSync(path, 'utf8').match(/\bdefineOperation(<[^(]*>)?\(/g) ?? [])
    expect(declared.length).toBeGreaterThan(20)
    expect(declared).toHaveLength(calls.length)
    for (const { path, name } of declared) {
      const { [name]: operation } = await import(resolve(path))
      expect(operations.includes(operation), `${name} of ${path}`).toBe(true)
    }
    expect(operations).toHaveLength(declared.length)
  })

  it('has each operation once, in a group with a description', () => {
    expect(new Set(operations.map(one => one.id)).size).toBe(operations.length)
    for (const { id, tag } of operations) expect(tagDescriptions[tag], `the group ${tag} of ${id}`).toBeDefined()
    expect(Object.keys(tagDescriptions).filter(tag => !operations.some(one => one.tag === tag))).toEqual([])
  })
})
