import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { loadCredentialsKey, loadSecrets } from '../../../../services/platform/access/secrets.ts'
import { isFailure } from '../../../../services/platform/failure.ts'

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'wattledger-secrets-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

const none = { secret: null, operatorKey: null }
const load: typeof loadSecrets = (...given) => {
  const loaded = loadSecrets(...given)
  loaded.save()
  return loaded
}
const stored = () => JSON.parse(readFileSync(join(folder, 'secrets.json'), 'utf8'))

describe('the secrets', () => {
  it('are created once and loaded again, readable by their owner only', () => {
    const made = load(folder, none)
    expect(made.isNew).toBe(true)
    expect(load(folder, none)).toMatchObject({ value: made.value, isNew: false })
    expect(statSync(join(folder, 'secrets.json')).mode & 0o777).toBe(0o600)
  })

  it('differ from installation to installation', () => {
    const made = load(folder, none)
    rmSync(join(folder, 'secrets.json'))
    expect(load(folder, none).value.secret).not.toBe(made.value.secret)
  })

  it('are stored only if the configuration has none', () => {
    const given = { secret: 's'.repeat(32), operatorKey: null }
    const { value, isNew } = load(folder, given)
    expect({ value, isNew }).toEqual({
      value: { secret: given.secret, operatorKey: stored().operator_key },
      isNew: false,
    })
    expect(stored()).not.toHaveProperty('secret')
    expect(load(folder, none).value.operatorKey).toBe(stored().operator_key)
  })

  it('reach the data folder at save only, and each save keeps the other secrets', () => {
    const [secrets, credentials] = [loadSecrets(folder, none), loadCredentialsKey(folder, null)]
    expect(existsSync(join(folder, 'secrets.json'))).toBe(false)
    credentials.save()
    secrets.save()
    expect(stored()).toEqual({
      secret: secrets.value.secret,
      operator_key: secrets.value.operatorKey,
      credentials_key: credentials.value,
    })
  })

  it.each(['{"secret": 1}', '{"secret": "cut of', '', 'null', '[]x'])(
    'are never replaced if their file is damaged: %j',
    content => {
      writeFileSync(join(folder, 'secrets.json'), content)
      for (const read of [() => loadSecrets(folder, none), () => loadCredentialsKey(folder, null)]) {
        const thrown = thrownBy(read)
        expect(isFailure(thrown) && thrown.message).toContain('is damaged. Restore it from a backup')
      }
    },
  )
})

const thrownBy = (work: () => unknown): unknown => {
  try {
    return work()
  } catch (error) {
    return error
  }
}
