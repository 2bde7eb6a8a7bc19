"""The API's server in the editor: at most one, for the folders of the window that started it.

Everything runs on the UI thread, unless a method says otherwise.
"""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Callable

import sublime

from . import queues, settings, views
from .engines import Engines
from .stories import Stories

if TYPE_CHECKING:
    # Imported with the first server, because most editors never have one.
    from ..api.editor_server import Service, Serving

PANEL = "gemini_companion_api"
# The folder in the package's resources with the files of the web page.
PAGE = f"Packages/{__name__.partition('.')[0]}/companion/api/page/"
NO_FOLDER = "Open the folder of your project first: the API server works in it."


class Api:
    """Used by the commands. Before the start and after the stop it does nothing."""

    def __init__(
        self, tell: Callable[[str], None], warn: Callable[[str], None], engines: Engines
    ) -> None:
        self._tell = tell
        self._warn = warn
        self._engines = engines
        self._stories = Stories(tell)
        self._service: Service | None = None
        self._is_importing = False
        # The window that asked for the server; its panel says where the server is.
        self._window: sublime.Window | None = None

    def can_start(self, window: sublime.Window) -> bool:
        """Another window may always ask; it is told where the server runs."""
        return not self._is_running or window != self._window

    @property
    def can_stop(self) -> bool:
        service = self._service
        return service is not None and self._is_running and not service.is_stopping

    def start(self, window: sublime.Window) -> None:
        """Serve the window's folders."""
        if self._is_running:
            self._tell(self._serving_sentence())
            return
        folders = views.window_folders(window)
        if not folders:
            self._tell(NO_FOLDER)
            return
        self._is_importing, self._window = True, window
        self._tell("The API server is being started ...")
        self._stories.begin(self._serve_folders(folders))

    def stop(self) -> None:
        if self._service is not None and self.can_stop:
            self._tell("The API server is being stopped ...")
            self._service.stop()

    def unload(self) -> None:
        """The package is unloaded: end the server without a message. Its thread needs nothing of
        the package."""
        self._stories.stop()
        self._stories = Stories(self._tell)
        service, self._service = self._service, None
        self._close_panel()
        if service is not None:
            service.stop()

    def status_line(self) -> str:
        """A line for the status; empty if there is no server."""
        serving = self._service.serving if self._service is not None else None
        return f"Gemini CLI API: {serving.url}, for {serving.workspace}\n" if serving else ""

    @property
    def _is_running(self) -> bool:
        is_serving = self._service is not None and self._service.is_running
        return self._is_importing or is_serving

    async def _serve_folders(self, folders: tuple[str, ...]) -> None:
        try:
            engine = await self._engines.ensure_engine()
        finally:
            self._is_importing = False
        from ..api import state_folder
        from ..api.editor_server import Service, ServiceOptions

        def notify_change() -> None:
            """Called on the engine's thread."""
            queues.on_ui_thread(partial(self._follow_service, service))

        folder = state_folder.default_folder(os.environ)
        own = settings.current_settings()
        options = ServiceOptions(folder, folders, own.api_port, page_files, own.api_shows_chats)
        service = Service(engine, options, notify_change)
        self._service = service
        service.start()

    def _follow_service(self, service: Service) -> None:
        if service is not self._service:
            return
        serving = service.serving
        if serving is not None:
            self._show_address(serving)
            self._tell(f"The Gemini CLI API listens at {serving.url}.")
        elif not service.is_running:
            self._service = None
            self._close_panel()
            # Nobody has to look when it stops by itself.
            (self._warn if service.problem else self._tell)(
                service.problem or "The API server has stopped."
            )

    def _show_address(self, serving: Serving) -> None:
        """Show the server's address in a panel, because the log must not contain the token."""
        window = self._window
        if window is None or not window.is_valid():
            return
        lines = (
            f"The Gemini CLI API listens at {serving.url}, for {serving.workspace}.",
            f"Its token is in {serving.token_file}.",
            f"Its page (keep this link to yourself): {serving.url}/#token={serving.token}",
            'To end it, run "Gemini Companion: Stop API Server" from the command palette.',
        )
        panel = window.create_output_panel(PANEL)
        panel.run_command("append", {"characters": "\n".join(lines) + "\n"})
        window.run_command("show_panel", {"panel": "output." + PANEL})

    def _close_panel(self) -> None:
        window, self._window = self._window, None
        if window is not None and window.is_valid():
            window.destroy_output_panel(PANEL)

    def _serving_sentence(self) -> str:
        service = self._service
        serving = service.serving if service is not None else None
        if serving is None:
            return "The API server is being started or stopped; try again in a moment."
        return (
            f"The Gemini CLI API already listens at {serving.url}, for {serving.workspace}. To have"
            ' it for this window, run "Gemini Companion: Stop API Server" first.'
        )


def page_files() -> dict[str, bytes]:
    """The files of the web page by name; from any thread. A package in a zip has no folder."""
    paths = [path for path in sublime.find_resources("*") if path.startswith(PAGE)]
    return {path[len(PAGE) :]: sublime.load_binary_resource(path) for path in paths}
