"""What PyScript runs: build the app and bind it to the page."""

from attention_lab.page.app import App

app = App()
app.start()
