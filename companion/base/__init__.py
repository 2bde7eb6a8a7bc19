"""What everything stands on; knows neither Gemini CLI nor Sublime Text."""
