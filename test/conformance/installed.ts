import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'

// The Node version that the official tools need; on an older Node they get a newer one of their own.
const NEEDED = 22
const NEWER = `node-${process.platform}-${process.arch}@24`

interface Ended {
  readonly code: number | null
  readonly stdout: string
}

export interface Installed {
  /** Runs a program of one of the packages to its end; `onOutput` gets what it prints, as it comes. */
  run(name: string, argv: readonly string[], onOutput?: (text: string) => void): Promise<Ended>
  /** The command that starts such a program. */
  command(name: string): readonly [file: string, path: string]
  /** Variables that keep the files of the programs out of the user's home. */
  readonly environment: Readonly<Record<string, string>>
  remove(): void
}

/** Installs packages into a folder of their own: packages of conformance runs are no dependencies. */
export async function installed(
  packages: readonly string[],
  { anyNode = false }: { readonly anyNode?: boolean } = {},
): Promise<Installed> {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-conformance-'))
  const old = !anyNode && Number.parseInt(process.versions.node, 10) < NEEDED
  const all = old ? [...packages, NEWER] : packages
  const { code } = await ended('npm', [
    'install',
    '--no-audit',
    '--no-fund',
    '--loglevel=error',
    '--prefix',
    folder,
    ...all,
  ])
  if (code !== 0) throw new Error(`npm could not install ${all.join(', ')}`)

  const node = old ? join(folder, 'node_modules/.bin/node') : process.execPath
  const environment = { PATH: process.env['PATH'] ?? '', HOME: folder }
  const command = (name: string) => [node, programOf(folder, name)] as const
  return {
    command,
    environment,
    run(name, argv, onOutput) {
      const [file, path] = command(name)
      return ended(file, [path, ...argv], environment, onOutput)
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}

/** The first program of a package. */
function programOf(folder: string, name: string): string {
  const manifest = join(folder, 'node_modules', name, 'package.json')
  const { bin }: { bin: string | Record<string, string> } = JSON.parse(readFileSync(manifest, 'utf8'))
  const path = typeof bin === 'string' ? bin : Object.values(bin)[0]
  if (path === undefined) throw new Error(`the package ${name} has no program`)
  return join(dirname(manifest), path)
}

async function ended(
  file: string,
  argv: readonly string[],
  env = process.env,
  onOutput?: (text: string) => void,
): Promise<Ended> {
  const child = spawn(file, argv, { stdio: ['ignore', 'pipe', 'inherit'], env })
  if (onOutput !== undefined) child.stdout.on('data', (chunk: Buffer) => onOutput(chunk.toString()))
  const code = new Promise<number | null>((resolve, reject) => {
    child.on('close', resolve).on('error', reject)
  })
  return { stdout: await text(child.stdout), code: await code }
}
