import { validate } from 'dockerfile-utils'
import { describe, expect, it } from 'vitest'
import { read } from './deploy-files.ts'

// hadolint and tally know more rules, but their licences are GPL and AGPL.
const faultsOf = (text: string): readonly string[] =>
  validate(text).map(({ range, message }) => `${range.start.line + 1}: ${message}`)
const dockerfile = read('deploy/Dockerfile')

describe('the Dockerfile', () => {
  it('has no fault that its linter knows', () => {
    expect(faultsOf(dockerfile)).toEqual([])
  })

  it('builds with the syntax of the engine: a syntax line asks an image registry at each build', () => {
    expect(dockerfile).not.toMatch(/^#\s*syntax\s*=/im)
  })

  it.each([
    ['WORKDIR /app', 'WORKDIRS /app', 'Unknown instruction'],
    ['USER 1000:1000', 'MAINTAINER me', 'MAINTAINER has been deprecated'],
    ['EXPOSE 8080 9464', 'EXPOSE 8080:80x', 'Invalid containerPort'],
    ['STOPSIGNAL SIGTERM', 'STOPSIGNAL TERMINATE', 'Invalid signal'],
    ['--interval=10s', '--interval=10', 'missing unit'],
    ['--timeout=5s', '--time=5s', 'Unknown flag'],
    ['COPY docs ./docs', 'COPY docs', 'at least two arguments'],
    ['AS embedded', 'AS program', 'duplicate name'],
    ['FROM program\n', 'FROM\n', 'no arguments'],
  ])('has a fault if %s is %s', (correct, wrong, message) => {
    expect(dockerfile).toContain(correct)
    expect(faultsOf(dockerfile.replace(correct, wrong))).toContainEqual(expect.stringContaining(message))
  })
})
