import { existsSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { clientsInShort, codeOfClients } from '../clients/clients-in-short.ts'
import { brokerFaults, codeOfBrokerFaults } from '../kafka/broker-faults.ts'
import { seededRandom } from '../random.ts'
import { beginsWithOneOf, chooseCases, leftOutText, type NamedShortForm, type ShortForm } from './short-form.ts'

const letters: ShortForm<string> = {
  cases: ['a', 'b', 'c', 'd', 'e'],
  isWide: beginsWithOneOf(['all/', 'every.ts']),
  isNeeded: (letter, changed) => changed.includes(letter),
  added: others => others - 2,
}
const choose = (changed: readonly string[] | null, seed = 1, form = letters) =>
  chooseCases(form, changed, seededRandom(seed))

describe('a short form', () => {
  it('has the needed cases and the given number of others, in their order', () => {
    expect(choose([])).toHaveLength(3)
    for (let seed = 0; seed < 20; seed += 1) {
      const chosen = choose(['d'], seed)
      expect(chosen).toContain('d')
      expect(chosen).toHaveLength(3)
      expect(chosen).toEqual(chosen.toSorted())
    }
  })

  it('has the same cases for the same seed, and comes to all within few seeds', () => {
    expect(choose([], 7)).toEqual(choose([], 7))
    expect(new Set(Array.from({ length: 20 }, (_, seed) => choose([], seed).join())).size).toBeGreaterThan(3)
    expect(new Set(Array.from({ length: 20 }, (_, seed) => choose([], seed)).flat()).size).toBe(5)
  })

  it('has all cases after a change of a wide path, after an unknown change, and if it adds more than there are', () => {
    for (const changed of [['all/one.ts'], ['every.ts'], null]) expect(choose(changed)).toEqual(letters.cases)
    expect(choose(['al/one.ts'])).toHaveLength(3)
    expect(choose([], 1, { ...letters, added: () => 9 })).toEqual(letters.cases)
  })

  it('names what a run leaves out, and the command that plays all', () => {
    const named = { file: 'a.test.ts', variable: 'LETTERS', cases: letters.cases, nameOf: (one: string) => `<${one}>` }
    expect(leftOutText(named, ['a', 'c', 'e'])).toBe(
      'a.test.ts plays 3 of 5, without: <b>; <d>. All: LETTERS=all npm test -- a.test.ts\n',
    )
    expect(leftOutText(named, letters.cases)).toBe('')
    const many = { ...named, cases: Array.from({ length: 20 }, (_, index) => String(index)) }
    expect(leftOutText(many, ['1'])).toBe('a.test.ts plays 1 of 20. All: LETTERS=all npm test -- a.test.ts\n')
  })
})

const testOneAtRandom =
  <Case>(form: NamedShortForm<Case>, code: readonly string[]) =>
  (): void => {
    const chooseFrom = (changed: readonly string[], seed = 1) => chooseCases(form, changed, seededRandom(seed))

    it('are one at random, and come to all within few seeds', () => {
      expect(chooseFrom(['docs/api.md', 'services/console/pages.ts'])).toHaveLength(1)
      const seen = new Set(Array.from({ length: 40 }, (_, seed) => chooseFrom([], seed)).flat())
      expect(seen.size).toBe(form.cases.length)
    })

    it.each(code)('are all after a change of %s', path => {
      expect(existsSync(path)).toBe(true)
      expect(chooseFrom([path.endsWith('/') ? `${path}any.ts` : path])).toEqual(form.cases)
    })

    it('have a file that exists, and are all after its change', () => {
      expect(existsSync(form.file)).toBe(true)
      expect(chooseFrom([form.file])).toEqual(form.cases)
    })
  }

describe('the faults of brokers of a short run', testOneAtRandom(brokerFaults, codeOfBrokerFaults))
describe('the clients of a short run', testOneAtRandom(clientsInShort, codeOfClients))
