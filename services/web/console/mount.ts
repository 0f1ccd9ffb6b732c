import type { createApp } from '../../platform/http/app.ts'
import { type ConsoleDependencies, createConsole } from './console-pages.ts'

/** Serve the console at `/console` of an interface, which it uses as its callers do. */
export const mountConsole = (app: ReturnType<typeof createApp>, dependencies: Omit<ConsoleDependencies, 'fetch'>): void => {
  const answer = createConsole({ ...dependencies, fetch: (request, environment) => app.fetch(request, environment as object | undefined) })
  for (const path of ['/console', '/console/*']) app.all(path, ({ req, env }) => answer(req.raw, env))
}
